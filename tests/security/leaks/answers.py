"""Search for canaries in answers and logs, and comparison of answers apart from the requested ids."""

import asyncio
import base64
import binascii
import json
import logging
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from django.contrib.messages import get_messages

from tests.security.leaks.canaries import STEMS, Target
from tests.support.loops import run

_TOKEN = re.compile(r"[A-Za-z0-9_=.-]{16,}")
# Time limits until the first event of a stream, and after it.
_FIRST_S, _STREAM_S = 30, 2
_COMPARED_HEADERS = (
    "Allow",
    "Cache-Control",
    "Content-Disposition",
    "Content-Type",
    "ETag",
    "Kebab-Seq",
    "Location",
    "Retry-After",
    "Vary",
    "WWW-Authenticate",
)
# Values that differ between any two answers to the same request.
_PASSING = re.compile(r"\A(instance|.*_ms|created_at|requested_at)\Z")
_CSRF = re.compile(r'(name="csrfmiddlewaretoken" value=")[^"]*')
# Ids and secrets of new objects, timestamps, and durations that a page shows.
_FRESH = re.compile(
    r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}"
    r"|whsec_[\w+/]{43}=|kbb_[a-z2-7]{12}(?:_[\w-]{43})?|(?<![\w-])[\w-]{43}(?![\w-])"
    r'|(?<="prefix": ")[a-z2-7]{12}(?=")'
    r"|\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|\+00:00)"
    r"|\d{1,2} [A-Z][a-z]{2} \d{4}, \d\d:\d\d"
    r"|\d+(?:\.\d+)? ms\b"
    r"|\bjust now\b|\b(?:\d+|an?)\s(?:minute|hour)s? ago\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer, with the names and values of its request."""

    status: int
    headers: Mapping[str, str]
    text: str
    #: Values in the request by the names of their places.
    given: Mapping[str, str]

    @classmethod
    def of(cls, response: Any, given: Mapping[str, str]) -> "Answer":
        """Read a response of the test client to its end."""
        return cls(
            status=response.status_code,
            headers={name: unquote(value) for name, value in response.headers.items()},
            text="\n".join((_body(response).decode("utf-8", errors="replace"), *_messages(response))),
            given=given,
        )

    @property
    def comparable(self) -> tuple[Any, ...]:
        """Return the compared parts: status, headers and body, with names in place of requested values."""
        headers = {name: self._replace_requested(self.headers.get(name, "")) for name in _COMPARED_HEADERS}
        # An object's number may equal the status, which is compared separately.
        text = _steady(self.text).replace(f'"status": {self.status}', '"status": <status>')
        return self.status, headers, self._replace_requested(text)

    def _replace_requested(self, text: str) -> str:
        is_page = "<html" in text
        for name, value in sorted(self.given.items(), key=lambda item: -len(item[1])):
            if is_page and value.isdecimal():
                continue  # every page has a 1, too
            text = _word_pattern(value).sub(f"<{name}>", text)
        return _FRESH.sub("<fresh>", text)

    def leaks(self, target: Target) -> list[str]:
        """Return the canaries and ids of `target` in the answer, apart from those in the request."""
        text = "\n".join((self.text, *map("{0[0]}: {0[1]}".format, self.headers.items())))
        return leaks_in(text, target, self.given.values())


def leaks_in(text: str, target: Target, given: Iterable[str]) -> list[str]:
    """Return the canaries and ids of `target` in a text, including encoded ones."""
    requested = set(given)
    found = []
    for each in (text, *_decode(text)):
        lowered = each.lower()
        for value in requested:
            lowered = _word_pattern(value.lower()).sub("", lowered)
        found += re.findall(rf"\w*{target.stem}[\w.-]*", lowered)
        found += [value for value in target.ids.values() if _occurs_in(value, lowered)]
    return found


def shows(answer: Answer, target: Target) -> bool:
    """Return whether an answer has a canary of `target`, which its reader may see."""
    return bool(leaks_in(answer.text + " ".join(answer.headers.values()), target, ()))


@contextmanager
def captured_log() -> Iterator[list[str]]:
    """Yield a list that receives every log line, of any level, during the block."""
    lines: list[str] = []
    root = logging.getLogger()
    handler = _ListHandler(lines)
    before, root.level = root.level, logging.DEBUG
    root.addHandler(handler)
    try:
        yield lines
    finally:
        root.removeHandler(handler)
        root.setLevel(before)


class _ListHandler(logging.Handler):
    def __init__(self, lines: list[str]) -> None:
        super().__init__(logging.DEBUG)
        self._lines = lines
        self.setFormatter(logging.Formatter("%(levelname)s %(name)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(self.format(record))


def _messages(response: Any) -> list[str]:
    """Return the messages that the page after a redirect shows."""
    is_redirect = 300 <= response.status_code < 400
    return [str(message) for message in get_messages(response.wsgi_request)] if is_redirect else []


def _body(response: Any) -> bytes:
    if not response.streaming:
        return bytes(response.content)
    if response.is_async:
        return run(_read_stream(response))
    return b"".join(response.streaming_content)


async def _read_stream(response: Any) -> bytes:
    """Read a stream to its end, or at most until shortly after its first event."""
    pieces = []
    with suppress(TimeoutError):
        async with asyncio.timeout(_FIRST_S) as limit:
            async for piece in response.streaming_content:
                if not pieces:
                    limit.reschedule(asyncio.get_running_loop().time() + _STREAM_S)
                pieces.append(piece)
    return b"".join(pieces)


def _occurs_in(value: str, text: str) -> bool:
    """Return whether an id occurs that can't be there by chance: a long one, or a long number."""
    if value.isdecimal():
        return len(value) >= 10 and _word_pattern(value).search(text) is not None
    return len(value) >= 32 and value in text


def _word_pattern(value: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![^\W_]){re.escape(value)}(?![^\W_])")


def _steady(text: str) -> str:
    try:
        return json.dumps(_without_passing(json.loads(text)), ensure_ascii=False)
    except ValueError:
        return _CSRF.sub(r"\1", text)


def _without_passing(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: value[name] is not None if name == "next_cursor" else _without_passing(value[name])
            for name in value
            if not _PASSING.match(name)
        }
    return [_without_passing(each) for each in value] if isinstance(value, list) else value


def _decode(text: str) -> Iterator[str]:
    for token in _TOKEN.findall(text):
        for piece in _bytes_of(token):
            yield piece.decode("utf-8", errors="ignore")


def _bytes_of(token: str) -> Iterator[bytes]:
    with suppress(ValueError):
        yield bytes.fromhex(token)
    packed = token.startswith(".")
    letters = token.strip(".").rstrip("=")
    try:
        content = base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4))
        yield zlib.decompress(content) if packed else content
    except (binascii.Error, ValueError, zlib.error):
        return


assert all(stem.isalpha() for stem in STEMS)
