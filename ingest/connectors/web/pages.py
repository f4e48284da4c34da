"""Requests for single pages of a site, and their outcomes."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Final, Self

from ingest.connectors.walk_rules import SkipReason, WalkRules
from ingest.connectors.web.addresses import Address, parse_address
from ingest.connectors.web.content import MAX_HTML_BYTES, limit_bytes, mime_of, readable_path
from ingest.connectors.web.links import LinkResolver
from ingest.connectors.web.page_memory import PageMemory
from ingest.connectors.web.page_text import PageText
from ingest.connectors.web.requests import ReadPage, SiteAnswer, SiteRequests
from ingest.models import WebPage
from kebab.http_client.connections import RequestFailed, ResponseTooLarge

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_GONE: Final = frozenset({404, 410})
_NOT_MODIFIED = 304
MAX_LOCATION_CHARS: Final = 4_000
_MAX_ETAG_CHARS: Final = 500
_MAX_LAST_MODIFIED_CHARS: Final = 100
# Pages that are requested again at once, of a site where no number changes by itself.
_MAX_SECOND_LOOKS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """A page to request."""

    address: Address
    #: Number of links from the start page.
    depth: int = 0
    #: The key of the page that links to it.
    linked_by: str = ""
    is_start: bool = False
    #: The addresses that redirected to this one.
    trail: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Return the path of the document at its address."""
        return self.address.path

    def redirect_to(self, target: Address) -> Self:
        """Return the request for the target of a redirect of this one."""
        return replace(self, address=target, trail=(*self.trail, self.address.request_url))


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
        self, requests: SiteRequests, memory: PageMemory, rules: WalkRules, on_position: Callable[[str], None]
    ) -> None:
        self._requests = requests
        self._memory = memory
        self._rules = rules
        self._on_position = on_position
        #: fingerprints of lines whose numbers are others at every request
        self._unsteady: set[str] = set()
        self._second_looks = 0

    def read(self, request: PageRequest, links: LinkResolver) -> Outcome:
        """Request a page and return the outcome; for a page that this job has read, return the stored one."""
        known = self._memory.find(request.address.key)
        if known is not None and self._memory.is_fresh(known):
            if known.error:
                return PageFailed(reason=known.error, known=known)
            if known.leads_to:
                return PageRedirect(location=known.leads_to)
            if known.skipped:
                return PageMissing(reason=SkipReason(known.skipped), detail=f"was left out: {known.skipped}")
            return FetchedPage(page=known)
        self._on_position(request.path)
        pending = _PendingPage(address=request.address, known=known, links=links)
        try:
            with self._requests.get(request.address, self._memory.validators(known)) as answer:
                outcome = self._build_outcome(answer, pending)
        except ResponseTooLarge as error:
            outcome = PageMissing(reason=SkipReason.TOO_LARGE, detail=str(error))
        except RequestFailed as error:
            return PageFailed(reason=str(error), known=known)
        if not (isinstance(outcome, PageRedirect) and _is_same_page(links, outcome)):
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
        known, address = pending.known, pending.address
        read = answer.read_page(pending.links, limit_bytes(path, self._rules))
        etag, last_modified = answer.header("etag"), answer.header("last-modified")
        found: dict[str, Any] = {
            "etag": etag if len(etag) <= _MAX_ETAG_CHARS else "",
            "last_modified": last_modified if len(last_modified) <= _MAX_LAST_MODIFIED_CHARS else "",
            "links": read.links,
            "canonical": read.canonical,
        }
        if known is not None and known.path == path and self._is_unchanged(known, read, pending):
            return self._memory.confirm_unchanged(known, address.url, **found)
        return self._memory.store(
            address.key,
            read.content,
            known=known,
            url=address.url,
            path=path,
            is_noindex=read.content is None,
            fingerprints=read.text.to_json(),
            **found,
        )

    def _is_unchanged(self, known: WebPage, read: ReadPage, pending: _PendingPage) -> bool:
        """Return whether a page shows the text that is stored."""
        if known.is_noindex or read.content is None or not self._memory.has_stored_bytes(known):
            return False
        return self.is_same(PageText(**known.fingerprints), read.text, pending.links)

    def is_same(self, one: PageText, other: PageText, links: LinkResolver) -> bool:
        """Return whether two texts are equal apart from numbers that are others at every request.

        `other` is of the page that `links` are of; it is requested again if numbers alone tell them apart.
        """
        changed = one.changed_numbers(other)
        if changed is None:
            return False
        if not changed <= self._unsteady and self._second_looks < _MAX_SECOND_LOOKS:
            self._second_looks += 1
            self._unsteady |= self._find_unsteady(other, links)
        return changed <= self._unsteady

    def _find_unsteady(self, text: PageText, links: LinkResolver) -> set[str]:
        with suppress(RequestFailed), self._requests.get(links.address, {}) as answer:
            if answer.status == HTTPStatus.OK:
                return text.changed_numbers(answer.read_page(links, MAX_HTML_BYTES).text) or set()
        return set()


def _is_same_page(links: LinkResolver, outcome: PageRedirect) -> bool:
    """Return whether a redirect leads to the same page, with a session or by another scheme."""
    target = parse_address(outcome.location, base=links.address, parameters=links.parameters)
    return target is not None and (target.key, target.site) == (links.address.key, links.address.site)
