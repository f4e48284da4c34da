"""The robots.txt and the sitemaps of a site."""

from collections.abc import Callable, Iterator
from typing import Self, TypeVar

from ingest.connectors.errors import ListingFailed
from ingest.connectors.walk_rules import SkipReason
from ingest.connectors.web.addresses import Address, parse_address
from ingest.connectors.web.pages import REDIRECTS
from ingest.connectors.web.requests import SiteAnswer, SiteRequests
from ingest.connectors.web.robots import MAX_ROBOTS_BYTES
from ingest.connectors.web.sitemap import MAX_SITEMAP_BYTES
from kebab.http_client.connections import RequestFailed, mask_address

_Result = TypeVar("_Result")

_MAX_REDIRECTS = 5
_MAX_SITEMAPS = 500
# Sites that ask for a longer interval are not read: a job would occupy its worker for days.
_MAX_INTERVAL_S = 60.0


class RobotsFile:
    """The rules of a site's robots.txt, which the process that read it applies."""

    def __init__(self, requests: SiteRequests, home: Address, content: bytes) -> None:
        self._requests = requests
        self._home = home
        self._content = content
        #: seconds between two requests that the site asks for; 0 if it states none
        self.interval_s = self._judge(home.url)[1]

    @classmethod
    def fetch(cls, requests: SiteRequests, home: Address) -> Self:
        """Fetch a site's rules. Raises ListingFailed when there may be rules that can't be read.

        RFC 9309, 2.3.1: without a file everything is allowed; while it can't be reached nothing is.
        """
        answer = _fetch_file(requests, home.with_key("/robots.txt"), lambda file: file.read(MAX_ROBOTS_BYTES))
        rules = cls(requests, home, b"" if answer is None else answer)
        if rules.interval_s > _MAX_INTERVAL_S:
            raise ListingFailed(
                f"robots.txt of {home.host} asks for {rules.interval_s:,.0f} seconds between two requests;"
                f" {_MAX_INTERVAL_S:.0f} are the most that is waited."
            )
        return rules

    def allows(self, url: str) -> bool:
        """Return whether `url` may be requested. Raises ListingFailed if the rules can't be applied."""
        return self._judge(url)[0]

    def _judge(self, url: str) -> tuple[bool, float]:
        try:
            return self._requests.judge(url, self._content)
        except RequestFailed as error:
            raise ListingFailed(f"robots.txt of {self._home.host} {error}.") from error


def fetch_sitemap_pages(
    requests: SiteRequests, sitemap: Address, on_skipped: Callable[[str, SkipReason], None]
) -> Iterator[tuple[str, Address]]:
    """Yield the raw addresses in a sitemap and in the sitemaps that it lists, each with that of its sitemap.

    `on_skipped` is called for missing sitemaps, and for the first of each list that is skipped: on another
    host, or beyond the limit, which ends the list. Raises ListingFailed when one can't be read.
    """
    waiting, seen_keys = [sitemap], {sitemap.key}
    while waiting:
        address = waiting.pop(0)
        listed = _fetch_file(requests, address, lambda found: found.read_sitemap(MAX_SITEMAP_BYTES))
        if listed is None:
            if address is sitemap:
                raise ListingFailed(f"The sitemap {address.without_query.url} is not there.")
            on_skipped(address.without_query.path, SkipReason.NOT_FOUND)
            continue
        for text in listed.pages:
            if text.lower().startswith((f"{address.host}/", f"{address.host}:")):
                text = f"//{text}"
            yield text, address
        left_out = []
        for text in listed.sitemaps:
            if len(seen_keys) >= _MAX_SITEMAPS:
                left_out.append(text)
                break
            other = parse_address(text, base=address, parameters=None)
            if other is None or other.site != sitemap.site:
                left_out.append(text)
            elif other.key not in seen_keys:
                seen_keys.add(other.key)
                waiting.append(other)
        for text in left_out[:1]:
            on_skipped(mask_address(text, keeps_path=True)[:200], SkipReason.LEADS_ELSEWHERE)


def _fetch_file(
    requests: SiteRequests, address: Address, read: Callable[[SiteAnswer], _Result]
) -> _Result | None:
    """Apply `read` to the response; return None when the site has no such file. Raises ListingFailed."""
    first, name = address, address.without_query.url
    for _ in range(_MAX_REDIRECTS + 1):
        try:
            with requests.get(address, {}) as answer:
                if answer.status == 200:
                    return read(answer)
                if answer.status not in REDIRECTS:
                    if 400 <= answer.status < 500 and answer.status != 429:
                        return None
                    raise ListingFailed(
                        f"{name} answered {answer.status}, so that nothing of the site may be read now."
                    )
                target = parse_address(answer.header("location"), base=address, parameters=None)
        except RequestFailed as error:
            raise ListingFailed(f"{name} {error}.") from error
        if (
            target is None
            or target.site != first.site
            or (address.scheme, target.scheme) == ("https", "http")
        ):
            raise ListingFailed(f"{name} redirects to another host, where it is not followed.")
        address = target
    raise ListingFailed(f"{name} redirects more than {_MAX_REDIRECTS} times.")
