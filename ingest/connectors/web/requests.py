"""Requests to a site: one after the other, rate-limited, with Kebab's user agent."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from django.conf import settings

from ingest.connectors.web.addresses import Address
from ingest.connectors.web.rate import RateLimiter
from kebab import __version__
from kebab.http_client.download import Fetcher, StreamedResponse

# Retry-After is obeyed this often, for up to a minute each.
_REPEATS = 2
_MAX_PAUSE_S = 60
_RETRY_STATUSES = frozenset({429, 503})
_ACCEPT = "text/html,application/xhtml+xml,text/markdown,text/plain;q=0.9,*/*;q=0.5"


class SiteRequests:
    """Requests to one site; `on_wait` is called during waits, and may raise to end them."""

    def __init__(self, home: Address, on_wait: Callable[[], None]) -> None:
        host, port = home.site
        interval_s = 1 / settings.KEBAB_CRAWL_REQUESTS_PER_S
        self.rate_limiter = RateLimiter(f"{host}:{port}" if port else host, interval_s, on_wait)
        self._on_wait = on_wait
        self._fetcher = Fetcher(
            headers={"User-Agent": user_agent(), "Accept": _ACCEPT},
            private_hosts=settings.KEBAB_PRIVATE_HOSTS,
        )

    @contextmanager
    def get(self, address: Address, headers: Mapping[str, str]) -> Iterator[StreamedResponse]:
        """Yield the response, after retries that the site asks for. Raises RequestFailed."""
        for repeat in range(_REPEATS + 1):
            self.rate_limiter.wait_turn()
            with self._fetcher.send(
                address.url,
                limit_s=settings.KEBAB_CRAWL_LIMIT_S,
                headers=headers,
                on_wait=self._on_wait,
            ) as answer:
                pause_s = _pause_s(answer) if repeat < _REPEATS else None
                if pause_s is None:
                    yield answer
                    return
            self.rate_limiter.pause(pause_s)

    def close(self) -> None:
        """Close the pooled connections."""
        self._fetcher.close()


def user_agent() -> str:
    """Return Kebab's User-Agent, with the operator's contact if there is one."""
    contact = settings.KEBAB_CRAWL_CONTACT
    return f"Kebab/{__version__} (+{contact})" if contact else f"Kebab/{__version__}"


def _pause_s(answer: StreamedResponse) -> int | None:
    """Return the seconds until a retry; None when the response is final."""
    after = answer.header("retry-after")
    if answer.status not in _RETRY_STATUSES or not (after.isascii() and after.isdecimal() and len(after) < 6):
        return None
    return int(after) if int(after) <= _MAX_PAUSE_S else None
