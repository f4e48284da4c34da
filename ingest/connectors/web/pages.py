"""Requests for single pages of a site, and their outcomes."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, Final, Self
from urllib.parse import urljoin

from ingest.connectors.walk_rules import SkipReason, WalkRules
from ingest.connectors.web.addresses import MAX_ADDRESS_CHARS, Address, UrlScope, parse_address
from ingest.connectors.web.content import HTML, limit_bytes, mime_of, readable_path, to_utf8
from ingest.connectors.web.links import PageLinks, scan_links
from ingest.connectors.web.page_memory import PageMemory
from ingest.connectors.web.requests import SiteRequests
from ingest.connectors.web.robots import ROBOT, Directives
from ingest.models import WebPage
from ingest.parsers.decode import decode
from kebab.http_client.download import StreamedResponse
from kebab.http_client.errors import RequestFailed, ResponseTooLarge

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_GONE: Final = frozenset({404, 410})
_NOT_MODIFIED = 304
MAX_LOCATION_CHARS: Final = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """A page to request."""

    address: Address
    #: Number of links from the start page.
    depth: int = 0
    is_start: bool = False
    #: The addresses that redirected to this one.
    trail: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Return the path of the document at its address."""
        return self.address.path

    def redirect_to(self, target: Address) -> Self:
        """Return the request for the target of a redirect of this one."""
        return replace(self, address=target, trail=(*self.trail, self.address.url))


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedPage:
    """A page that exists and was stored."""

    page: WebPage


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRedirect:
    """A redirect to another address."""

    location: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageMissing:
    """A page that is no document of the source; `detail` completes a sentence after its address."""

    reason: SkipReason
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFailed:
    """A page that could not be read; `reason` completes a sentence after its address."""

    reason: str
    known: WebPage | None


Outcome = FetchedPage | PageRedirect | PageMissing | PageFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class _PendingPage:
    """A page that is being requested, and its stored row."""

    address: Address
    known: WebPage | None
    links: "_LinkResolver"


class PageReader:
    """A reader of pages of one site, which stores their outcomes."""

    def __init__(
        self,
        requests: SiteRequests,
        memory: PageMemory,
        rules: WalkRules,
        on_position: Callable[[str], None],
    ) -> None:
        self._requests = requests
        self._memory = memory
        self._rules = rules
        self._on_position = on_position

    def read(self, request: PageRequest, parameters: Collection[str], scope: UrlScope) -> Outcome:
        """Request a page and return the outcome; for a page that this job has read, return the stored one."""
        known = self._memory.find(request.address.key)
        if known is not None and self._memory.is_fresh(known):
            return _known_outcome(known)
        self._on_position(request.path)
        pending = _PendingPage(address=request.address, known=known, links=_LinkResolver(parameters, scope))
        try:
            with self._requests.get(request.address, self._memory.validators(known)) as answer:
                outcome = self._build_outcome(answer, pending)
        except ResponseTooLarge as error:
            outcome = PageMissing(reason=SkipReason.TOO_LARGE, detail=str(error))
        except RequestFailed as error:
            return PageFailed(reason=str(error), known=known)
        self._store_non_page(request, outcome, known)
        return outcome

    def _store_non_page(self, request: PageRequest, outcome: Outcome, known: WebPage | None) -> None:
        """Store that an address is no page, so that a resumed job need not request it again."""
        address = request.address
        none: dict[str, Any] = {
            "key": address.key,
            "url": address.url,
            "path": request.path,
            "content": None,
            "known": known,
        }
        if isinstance(outcome, PageRedirect) and len(outcome.location) <= MAX_LOCATION_CHARS:
            self._memory.store(**none, leads_to=outcome.location)
        elif isinstance(outcome, PageMissing):
            self._memory.store(**none, skipped=outcome.reason)

    def _build_outcome(self, answer: StreamedResponse, pending: _PendingPage) -> Outcome:
        known = pending.known
        if answer.status in REDIRECTS and answer.header("location"):
            return PageRedirect(location=answer.header("location"))
        if answer.status == _NOT_MODIFIED and known is not None:
            return FetchedPage(page=self._memory.confirm_unchanged(known, pending.address.url))
        if answer.status in _GONE:
            return PageMissing(reason=SkipReason.NOT_FOUND, detail=f"answered {answer.status}")
        if answer.status != 200:
            return PageFailed(reason=f"answered {answer.status}", known=known)
        mime = mime_of(answer.header("content-type"))
        path = readable_path(pending.address.path, mime)
        if path is None:
            return PageMissing(
                reason=SkipReason.NO_PARSER, detail=f"is {mime or 'of no type'}, which is not read"
            )
        left_out = self._rules.skip_reason_for_name(path)
        if left_out is not None:
            return PageMissing(reason=left_out, detail="has a name that is left out")
        return FetchedPage(page=self._store_page(answer, pending, path, mime))

    def _store_page(self, answer: StreamedResponse, pending: _PendingPage, path: str, mime: str) -> WebPage:
        content = to_utf8(answer.read(limit_bytes(path, self._rules)), answer.header("content-type"))
        links = scan_links(decode(content), ROBOT) if mime in HTML else PageLinks()
        directives = Directives.parse(links.robots, answer.headers("x-robots-tag"))
        return self._memory.store(
            pending.address.key,
            None if directives.noindex else content,
            known=pending.known,
            url=pending.address.url,
            path=path,
            is_noindex=directives.noindex,
            etag=answer.header("etag"),
            last_modified=answer.header("last-modified"),
            links=[] if directives.nofollow else pending.links.keys(links, pending.address),
            canonical=pending.links.canonical(links, pending.address),
        )


def _known_outcome(page: WebPage) -> Outcome:
    if page.error:
        return PageFailed(reason=page.error, known=page)
    if page.leads_to:
        return PageRedirect(location=page.leads_to)
    if page.skipped:
        return PageMissing(reason=SkipReason(page.skipped), detail=f"was left out: {page.skipped}")
    return FetchedPage(page=page)


class _LinkResolver:
    """A resolver of raw links into keys of the source's own pages."""

    def __init__(self, parameters: Collection[str], scope: UrlScope) -> None:
        self._parameters = parameters
        self._scope = scope

    def keys(self, links: PageLinks, address: Address) -> list[str]:
        """Return the keys of the pages that a page links to, without repetition, in its order."""
        found = (self._resolve_link(links, address, link) for link in links.links)
        return list(dict.fromkeys(each.key for each in found if each is not None))

    def canonical(self, links: PageLinks, address: Address) -> str:
        """Return the key of a page's canonical address; '' for none, or one outside the source."""
        found = None if links.canonical is None else self._resolve_link(links, address, links.canonical)
        return "" if found is None else found.key

    def _resolve_link(self, links: PageLinks, address: Address, link: str) -> Address | None:
        base = links.base or ""
        try:
            text = urljoin(base, link) if len(base) <= MAX_ADDRESS_CHARS else link
        except ValueError:  # invalid brackets
            return None
        found = parse_address(text, base=address, parameters=self._parameters)
        return found if found is not None and self._scope.holds(found) else None
