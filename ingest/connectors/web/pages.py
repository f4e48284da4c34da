"""Requests for single pages of a site, and their outcomes."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from ingest.connectors.walk_rules import SkipReason, WalkRules
from ingest.connectors.web.addresses import Address, UrlScope
from ingest.connectors.web.content import limit_bytes, mime_of, readable_path
from ingest.connectors.web.links import LinkResolver
from ingest.connectors.web.page_memory import PageMemory
from ingest.connectors.web.requests import SiteAnswer, SiteRequests
from ingest.models import WebPage
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
    links: LinkResolver


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
        links = LinkResolver(address=request.address, parameters=tuple(parameters), scope=scope)
        pending = _PendingPage(address=request.address, known=known, links=links)
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

    def _build_outcome(self, answer: SiteAnswer, pending: _PendingPage) -> Outcome:
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
        return FetchedPage(page=self._store_page(answer, pending, path))

    def _store_page(self, answer: SiteAnswer, pending: _PendingPage, path: str) -> WebPage:
        read = answer.read_page(pending.links, limit_bytes(path, self._rules))
        return self._memory.store(
            pending.address.key,
            read.content,
            known=pending.known,
            url=pending.address.url,
            path=path,
            is_noindex=read.content is None,
            etag=answer.header("etag"),
            last_modified=answer.header("last-modified"),
            links=read.links,
            canonical=read.canonical,
        )


def _known_outcome(page: WebPage) -> Outcome:
    if page.error:
        return PageFailed(reason=page.error, known=page)
    if page.leads_to:
        return PageRedirect(location=page.leads_to)
    if page.skipped:
        return PageMissing(reason=SkipReason(page.skipped), detail=f"was left out: {page.skipped}")
    return FetchedPage(page=page)
