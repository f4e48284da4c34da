"""Looks for canaries in answers and logs, and tells whether two answers differ but by what was asked."""

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
# Until the first event of a stream, and from there on.
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
# What differs between any two answers to the same request.
_PASSING = re.compile(r"\A(instance|.*_ms|created_at|requested_at)\Z")
_CSRF = re.compile(r'(name="csrfmiddlewaretoken" value=")[^"]*')
# Ids and secrets of what an answer has just made, moments, and how long a page says that it took.
_FRESH = re.compile(
    r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}"
    r"|kbb_[a-z2-7]{12}(?:_[\w-]{43})?|(?<![\w-])[\w-]{43}(?![\w-])"
    r'|(?<="prefix": ")[a-z2-7]{12}(?=")'
    r"|\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|\+00:00)"
    r"|\d{1,2} [A-Z][a-z]{2} \d{4}, \d\d:\d\d"
    r"|\d+(?:\.\d+)? ms\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back, with what had been sent."""

    status: int
    headers: Mapping[str, str]
    text: str
    #: What stood in the request by the name of its place there.
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
    def likeness(self) -> tuple[Any, ...]:
        """What is compared: status, headers and body, with names in the place of what was sent."""
        headers = {name: self._named(self.headers.get(name, "")) for name in _COMPARED_HEADERS}
        # A hidden thing's number may be that of the status, which is compared for itself.
        text = _steady(self.text).replace(f'"status": {self.status}', '"status": <status>')
        return self.status, headers, self._named(text)

    def _named(self, text: str) -> str:
        is_page = "<html" in text
        for name, value in sorted(self.given.items(), key=lambda item: -len(item[1])):
            if is_page and value.isdecimal():
                continue  # the 1 of an id stands in the frame of every page, too
            text = _alone(value).sub(f"<{name}>", text)
        return _FRESH.sub("<fresh>", text)

    def leaks(self, target: Target) -> list[str]:
        """Return what is told of `target` beyond what the request said itself."""
        told = "\n".join((self.text, *map("{0[0]}: {0[1]}".format, self.headers.items())))
        return leaks_in(told, target, self.given.values())


def leaks_in(text: str, target: Target, given: Iterable[str]) -> list[str]:
    """Return the canaries and ids of `target` in a text, and in what is encoded in it."""
    known = set(given)
    found = []
    for each in (text, *_decoded(text)):
        lowered = each.lower()
        for value in known:
            lowered = _alone(value.lower()).sub("", lowered)
        found += re.findall(rf"\w*{target.stem}[\w.-]*", lowered)
        found += [value for value in target.ids.values() if _stands_in(value, lowered)]
    return found


def shows(answer: Answer, target: Target) -> bool:
    """Return whether an answer holds a canary of `target`, which its reader may see."""
    return bool(leaks_in(answer.text + " ".join(answer.headers.values()), target, ()))


@contextmanager
def logged() -> Iterator[list[str]]:
    """Return the list that everything logged meanwhile, at any level, comes into."""
    lines: list[str] = []
    root = logging.getLogger()
    handler = _Keeping(lines)
    before, root.level = root.level, logging.DEBUG
    root.addHandler(handler)
    try:
        yield lines
    finally:
        root.removeHandler(handler)
        root.setLevel(before)


class _Keeping(logging.Handler):
    def __init__(self, lines: list[str]) -> None:
        super().__init__(logging.DEBUG)
        self._lines = lines
        self.setFormatter(logging.Formatter("%(levelname)s %(name)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(self.format(record))


def _messages(response: Any) -> list[str]:
    """What the page tells that an act leads to."""
    is_redirect = 300 <= response.status_code < 400
    return [str(message) for message in get_messages(response.wsgi_request)] if is_redirect else []


def _body(response: Any) -> bytes:
    if not response.streaming:
        return bytes(response.content)
    if response.is_async:
        return run(_streamed(response))
    return b"".join(response.streaming_content)


async def _streamed(response: Any) -> bytes:
    """Read to the end; a stream that goes on, as of a running job, for as long as its first event takes."""
    pieces = []
    with suppress(TimeoutError):
        async with asyncio.timeout(_FIRST_S) as limit:
            async for piece in response.streaming_content:
                if not pieces:
                    limit.reschedule(asyncio.get_running_loop().time() + _STREAM_S)
                pieces.append(piece)
    return b"".join(pieces)


def _stands_in(value: str, text: str) -> bool:
    """Return whether an id that can't stand there by chance does: a long one, or a number of so
    many digits.
    """
    if value.isdecimal():
        return len(value) >= 10 and _alone(value).search(text) is not None
    return len(value) >= 32 and value in text


def _alone(value: str) -> re.Pattern[str]:
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


def _decoded(text: str) -> Iterator[str]:
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
