"""Requests to a site: one after the other, rate-limited, with Kebab's user agent, in a sandboxed process.

The process talks to the site and parses what it sends (`ingest.connectors.web.child`); this one decides what
is requested, and how much of an answer is read.

The state of the rate limit is in Redis under the site's name alone, whichever workspace's source it is: the
limit protects the site. Without Redis each worker limits its own requests.
"""

import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache, partial
from typing import Any, Final, TypeVar

import httpcore2
import protego
import redis
from django.conf import settings

from ingest.connectors.errors import ListingFailed
from ingest.connectors.web.addresses import MAX_KEY_CHARS, Address
from ingest.connectors.web.links import LinkResolver
from ingest.connectors.web.page_text import PageText
from ingest.connectors.web.sitemap import Sitemap
from kebab import __version__
from kebab.http_client.connections import RequestFailed, ResponseTooLarge
from kebab.sandbox.process import Deadline, Request
from kebab.sandbox.program import BODY, ChildDied, Header, Limits, Program, SandboxUnavailable
from kebab.sandbox.worker import SandboxWorker
from kebab.stack.servers.redis_client import redis_client, sync_reply

logger = logging.getLogger(__name__)

_POLL_S = 0.25


class RateLimiter:
    """The rate limit of one site; `on_wait` is called during a wait, and may raise to end it."""

    def __init__(self, site: str, interval_s: float, on_wait: Callable[[], None]) -> None:
        self.interval_s = interval_s
        self._name = f"kebab:web:{site}"
        self._on_wait = on_wait
        self._next_at = 0.0

    def wait_turn(self) -> None:
        """Wait until the next request to the site is allowed."""
        while (wait_s := self._wait_s()) > 0:
            self.pause(min(wait_s, _POLL_S))
        self._next_at = time.monotonic() + self.interval_s

    def pause(self, seconds: float) -> None:
        """Wait for `seconds`, calling `on_wait` repeatedly."""
        ends_at = time.monotonic() + seconds
        while (left_s := ends_at - time.monotonic()) > 0:
            self._on_wait()
            time.sleep(min(left_s, _POLL_S))

    def _wait_s(self) -> float:
        own_s = self._next_at - time.monotonic()
        if own_s > 0:
            return own_s
        try:
            interval_ms = max(1, round(self.interval_s * 1_000))
            if _redis().set(self._name, 1, nx=True, px=interval_ms):
                return 0.0
            left_ms = int(sync_reply(_redis().pttl(self._name)))
            return max(left_ms, 1) / 1_000
        except redis.RedisError as error:
            logger.warning("the pace of a site is kept by this worker alone: %s", error)
            return 0.0


_redis = cache(redis_client)


_Result = TypeVar("_Result")

# Retry-After is obeyed this often, for up to a minute each.
_REPEATS = 2
_MAX_PAUSE_S = 60
_RETRY_STATUSES = frozenset({429, 503})
_ACCEPT = "text/html,application/xhtml+xml,text/markdown,text/plain;q=0.9,*/*;q=0.5"
#: Beside the largest document, of which the process has two copies: a sitemap of 50 MB takes 250.
_MEMORY_BYTES: Final = 400 * 1024**2
#: A sitemap or a page at its limit takes up to ten seconds.
_CPU_SECONDS: Final = 30
#: Seconds for parsing what has come within KEBAB_CRAWL_LIMIT_S, and for a process that is slow to give up.
_PARSE_S: Final = 30.0
_KEY = re.compile(r"/[!-~]*")
_DIGEST = re.compile("[0-9a-f]{0,64}")
_MAX_DIGESTS: Final = 1_000


class SiteRequests:
    """Requests to one site, of at most `max_bytes` in all; `on_wait` is called during waits.

    It may raise to end them.
    """

    def __init__(
        self, home: Address, on_wait: Callable[[], None], *, max_bytes: int, received_bytes: int = 0
    ) -> None:
        host, port = home.site
        interval_s = 1 / settings.KEBAB_CRAWL_REQUESTS_PER_S
        self.rate_limiter = RateLimiter(f"{host}:{port}" if port else host, interval_s, on_wait)
        self._on_wait = on_wait
        self._max_bytes = max_bytes
        self._received_bytes = received_bytes
        self._client = {
            "headers": {"User-Agent": user_agent(), "Accept": _ACCEPT},
            "private_hosts": sorted(settings.KEBAB_PRIVATE_HOSTS),
        }
        self._worker = SandboxWorker(site_program())

    @contextmanager
    def get(self, address: Address, headers: Mapping[str, str]) -> Iterator["SiteAnswer"]:
        """Yield the response, after retries that the site asks for.

        Raises RequestFailed, and ListingFailed once the site has sent too much.
        """
        for repeat in range(_REPEATS + 1):
            self.rate_limiter.wait_turn()
            if self._received_bytes > self._max_bytes:
                raise ListingFailed(
                    f"{address.host} has sent more than {self._max_bytes:,} bytes, the most for so many"
                    " pages. Exclude large files, or raise max_pages."
                )
            answer = self._open(address, headers)
            pause_s = _pause_s(answer) if repeat < _REPEATS else None
            if pause_s is None:
                yield answer
                return
            self.rate_limiter.pause(pause_s)

    def judge(self, url: str, robots: bytes) -> tuple[bool, float]:
        """Return whether a robots.txt allows an address, and the seconds between requests that it asks for.

        Raises RequestFailed if it can't be applied.
        """
        return self.ask({"task": "judge", "url": url}, _read_judgement, content=robots)

    def ask(
        self, header: Header, read: Callable[[Iterator[Header]], _Result], *, content: bytes = b""
    ) -> _Result:
        """Return what `read` makes of the answer of the process. Raises RequestFailed, ListingFailed."""
        request = Request(
            header=header,
            content=content,
            start_deadline=partial(Deadline, settings.KEBAB_CRAWL_LIMIT_S + _PARSE_S),
            on_wait=self._on_wait,
        )
        try:
            return self._worker.ask(request, lambda replies: read(map(self._check_reply, replies)))
        except ChildDied as death:
            self._received_bytes += int(header.get("limit_bytes", 0))
            raise RequestFailed(f"can't be read within the limits: {death.reason}") from death
        except SandboxUnavailable as error:
            raise ListingFailed(f"No process can be started that reads the site: {error}.") from error

    def close(self) -> None:
        """End the process, and with it its connections."""
        self._worker.close()

    def _open(self, address: Address, headers: Mapping[str, str]) -> "SiteAnswer":
        header = {
            "task": "open",
            "url": address.request_url,
            "headers": dict(headers),
            "limit_s": settings.KEBAB_CRAWL_LIMIT_S,
            "client": self._client,
        }
        return self.ask(header, partial(_read_head, self))

    def _check_reply(self, reply: Header) -> Header:
        """Count the bytes that the site has sent, and return the reply. Raises RequestFailed."""
        self._received_bytes += max(0, int(reply.get("received_bytes", 0)))
        if "failed" in reply:
            raise (ResponseTooLarge if reply["is_too_large"] else RequestFailed)(str(reply["failed"]))
        return reply


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPage:
    """A page as it is stored; keys are those of pages of the same source."""

    #: in UTF-8 if it is text; None for a page that is not to be indexed
    content: bytes | None
    links: list[str]
    canonical: str
    text: PageText


class SiteAnswer:
    """The answer of a site, whose body has not been read yet."""

    def __init__(self, requests: SiteRequests, status: int, headers: Mapping[str, str]) -> None:
        self.status = status
        self._requests = requests
        self._headers = headers

    def header(self, name: str) -> str:
        """Return the first value of a header of those that the process passes on; '' without one."""
        return self._headers.get(name, "")

    def read(self, limit_bytes: int) -> bytes:
        """Return the decompressed body. Raises RequestFailed, ResponseTooLarge."""
        return self._ask("read", limit_bytes, _read_body)

    def read_sitemap(self, limit_bytes: int) -> Sitemap:
        """Return the addresses in a sitemap. Raises RequestFailed, ResponseTooLarge."""
        return self._ask("read_sitemap", limit_bytes, _read_sitemap)

    def read_page(self, links: LinkResolver, limit_bytes: int) -> ReadPage:
        """Return a page and what is in it. Raises RequestFailed, ResponseTooLarge."""
        return self._ask("read_page", limit_bytes, _read_page, **asdict(links))

    def _ask(
        self, task: str, limit_bytes: int, read: Callable[[Iterator[Header]], _Result], **options: Any
    ) -> _Result:
        return self._requests.ask({"task": task, "limit_bytes": limit_bytes, **options}, read)


def user_agent() -> str:
    """Return Kebab's User-Agent, with the operator's contact if there is one."""
    contact = settings.KEBAB_CRAWL_CONTACT
    return f"Kebab/{__version__} (+{contact})" if contact else f"Kebab/{__version__}"


def site_program() -> Program:
    """Return the program that talks to a site, with its limits."""
    memory_bytes = _MEMORY_BYTES + 2 * settings.KEBAB_DOCUMENT_LIMIT_BYTES
    return Program(
        module="ingest.connectors.web.child",
        limits=Limits(extra_data_bytes=memory_bytes, request_cpu_seconds=_CPU_SECONDS),
        libraries=(httpcore2, protego),
    )


def _pause_s(answer: SiteAnswer) -> int | None:
    """Return the seconds until a retry; None when the response is final."""
    after = answer.header("retry-after")
    if answer.status not in _RETRY_STATUSES or not (after.isascii() and after.isdecimal() and len(after) < 6):
        return None
    return int(after) if int(after) <= _MAX_PAUSE_S else None


def _read_head(requests: SiteRequests, replies: Iterator[Header]) -> SiteAnswer:
    reply = next(replies)
    headers = {str(name): str(value) for name, value in reply["headers"].items()}
    return SiteAnswer(requests, int(reply["status"]), headers)


def _read_judgement(replies: Iterator[Header]) -> tuple[bool, float]:
    reply = next(replies)
    return bool(reply["is_allowed"]), float(reply["interval_s"])


def _read_body(replies: Iterator[Header]) -> bytes:
    return bytes(next(replies).get(BODY, b""))


def _read_sitemap(replies: Iterator[Header]) -> Sitemap:
    found = Sitemap()
    for reply in replies:
        found.pages.extend(map(str, reply.get("pages", ())))
        if "sitemaps" in reply:
            found.sitemaps.extend(map(str, reply["sitemaps"]))
            break
    return found


def _read_page(replies: Iterator[Header]) -> ReadPage:
    reply = next(replies)
    links, canonical = [_check_key(key) for key in reply["links"]], reply["canonical"]
    return ReadPage(
        content=None if reply["is_noindex"] else bytes(reply.get(BODY, b"")),
        links=links,
        canonical=_check_key(canonical) if canonical else "",
        text=_check_text(PageText(**reply["text"])),
    )


def _check_text(text: PageText) -> PageText:
    """Return fingerprints. Raises ValueError for what is none, or too many."""
    digests = [text.text, text.words, text.main, text.undated, text.missing]
    digests += [*text.numbers, *text.numbers.values()]
    if len(digests) > _MAX_DIGESTS or not all(map(_DIGEST.fullmatch, digests)):
        raise ValueError("it is not the fingerprint of a page")
    return text


def _check_key(key: str) -> str:
    """Return a key in normal form. Raises ValueError for another one, which would lead to another host."""
    if len(key) > MAX_KEY_CHARS or _KEY.fullmatch(key) is None:
        raise ValueError("it is not the key of a page")
    return key
