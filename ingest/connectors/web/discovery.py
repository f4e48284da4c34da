"""What a site says before its pages: robots.txt, and the sitemaps."""

from collections.abc import Callable, Iterator
from typing import Self, TypeVar

from ingest.connectors.errors import ListingFailed
from ingest.connectors.walk_rules import SkipReason
from ingest.connectors.web.addresses import Address, read_address
from ingest.connectors.web.pages import REDIRECTS
from ingest.connectors.web.requests import SiteRequests
from ingest.connectors.web.robots import MAX_ROBOTS_BYTES, RobotRules
from ingest.connectors.web.sitemap import MAX_SITEMAP_BYTES, Sitemap, SitemapUnreadable, read_sitemap
from kebab.http_client.download import Answer
from kebab.http_client.errors import AnswerTooLarge, RequestFailed

_Read = TypeVar("_Read")

_MAX_REDIRECTS = 5
_MAX_SITEMAPS = 500
# Slower than this no site is read: a job would hold its worker for days.
_MAX_INTERVAL_S = 60.0


class RobotsFile(RobotRules):
    """The robots.txt of a site, fetched."""

    @classmethod
    def fetch(cls, requests: SiteRequests, home: Address) -> Self:
        """Return a site's rules. Raises ListingFailed when there may be rules that can't be had.

        RFC 9309, 2.3.1: without a file all is allowed; while it can't be reached nothing is.
        """
        answer = _get(requests, home.at("/robots.txt"), _robots)
        rules = cls(b"" if answer is None else answer)
        if rules.interval_s > _MAX_INTERVAL_S:
            raise ListingFailed(
                f"robots.txt of {home.host} asks for {rules.interval_s:,.0f} seconds between two requests;"
                f" {_MAX_INTERVAL_S:.0f} are the most that is waited."
            )
        return rules


def sitemap_pages(
    requests: SiteRequests, sitemap: Address, note: Callable[[str, SkipReason], None]
) -> Iterator[str]:
    """Return the addresses that a sitemap and those that it lists name, as they are written.

    `note` is told of sitemaps that are not there, and of the first in each list that is left out: on
    another host, or one too many, behind which the list is not looked at. Raises ListingFailed when one
    can't be read.
    """
    waiting, met = [sitemap], {sitemap.key}
    while waiting:
        address = waiting.pop(0)
        listed = _get(requests, address, _sitemap)
        if listed is None:
            if address is sitemap:
                raise ListingFailed(f"The sitemap {address.url} is not there.")
            note(address.path, SkipReason.NOT_FOUND)
            continue
        yield from listed.pages
        left_out = []
        for text in listed.sitemaps:
            if len(met) >= _MAX_SITEMAPS:
                left_out.append(text)
                break
            other = _sitemap_address(text, address)
            if other is None or other.site != sitemap.site:
                left_out.append(text)
            elif other.key not in met:
                met.add(other.key)
                waiting.append(other)
        for text in left_out[:1]:
            note(text[:200], SkipReason.LEADS_ELSEWHERE)


def _sitemap_address(text: str, base: Address) -> Address | None:
    names = {part.partition("=")[0] for part in text.partition("?")[2].split("&")}
    return read_address(text, base=base, parameters=names)


def _robots(answer: Answer) -> bytes:
    try:
        return answer.read(MAX_ROBOTS_BYTES)
    except AnswerTooLarge as error:
        raise ListingFailed(f"robots.txt {error}, more than are read.") from error


def _sitemap(answer: Answer) -> Sitemap:
    return read_sitemap(answer.read(MAX_SITEMAP_BYTES))


def _get(requests: SiteRequests, address: Address, read: Callable[[Answer], _Read]) -> _Read | None:
    """Return what `read` makes of the answer; None when the site has no such file. Raises ListingFailed."""
    first = address
    for _ in range(_MAX_REDIRECTS + 1):
        try:
            with requests.get(address, {}) as answer:
                if answer.status == 200:
                    return read(answer)
                if answer.status not in REDIRECTS:
                    return _nothing(answer.status, first)
                target = _sitemap_address(answer.header("location"), address)
        except (RequestFailed, SitemapUnreadable) as error:
            raise ListingFailed(f"{first.url} {error}.") from error
        if (
            target is None
            or target.site != first.site
            or (address.scheme, target.scheme) == ("https", "http")
        ):
            raise ListingFailed(f"{first.url} redirects to another host, where it is not followed.")
        address = target
    raise ListingFailed(f"{first.url} redirects more than {_MAX_REDIRECTS} times.")


def _nothing(status: int, address: Address) -> None:
    """Raises ListingFailed unless the status says that there is no such file."""
    if not 400 <= status < 500 or status == 429:
        raise ListingFailed(f"{address.url} answered {status}, so that nothing of the site may be read now.")
