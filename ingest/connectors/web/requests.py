"""Asking a site: one request after the other, at its pace, with our name on them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from django.conf import settings

from ingest.connectors.web.addresses import Address
from ingest.connectors.web.rate import Pace
from kebab import __version__
from kebab.http_client.download import Answer, Fetcher

# A site that says when to come again is believed this often, and up to a minute.
_REPEATS = 2
_MAX_PAUSE_S = 60
_LATER = frozenset({429, 503})
_ACCEPT = "text/html,application/xhtml+xml,text/markdown,text/plain;q=0.9,*/*;q=0.5"


class SiteRequests:
    """Requests to one site; `on_wait` is called while anything is waited for, and may raise to end it."""

    def __init__(self, home: Address, on_wait: Callable[[], None]) -> None:
        host, port = home.site
        interval_s = 1 / settings.KEBAB_CRAWL_REQUESTS_PER_S
        self.pace = Pace(f"{host}:{port}" if port else host, interval_s, on_wait)
        self._on_wait = on_wait
        self._fetcher = Fetcher(
            headers={"User-Agent": user_agent(), "Accept": _ACCEPT},
            private_hosts=settings.KEBAB_PRIVATE_HOSTS,
        )

    @contextmanager
    def get(self, address: Address, headers: Mapping[str, str]) -> Iterator[Answer]:
        """Return the answer, asked for again where the site says when to. Raises RequestFailed."""
        for repeat in range(_REPEATS + 1):
            self.pace.wait_turn()
            with self._fetcher.get(
                address.url,
                limit_s=settings.KEBAB_CRAWL_LIMIT_S,
                headers=headers,
                on_wait=self._on_wait,
            ) as answer:
                pause_s = _pause_s(answer) if repeat < _REPEATS else None
                if pause_s is None:
                    yield answer
                    return
            self.pace.pause(pause_s)

    def close(self) -> None:
        """Close the kept connections."""
        self._fetcher.close()


def user_agent() -> str:
    """Return how Kebab names itself, with where its operator can be reached."""
    contact = settings.KEBAB_CRAWL_CONTACT
    return f"Kebab/{__version__} (+{contact})" if contact else f"Kebab/{__version__}"


def _pause_s(answer: Answer) -> int | None:
    """Seconds after which to ask again; None when the answer stands."""
    after = answer.header("retry-after")
    if answer.status not in _LATER or not (after.isascii() and after.isdecimal() and len(after) < 6):
        return None
    return int(after) if int(after) <= _MAX_PAUSE_S else None
