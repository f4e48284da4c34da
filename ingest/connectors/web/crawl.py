"""The crawl of a site: lists its pages breadth first, requesting each once."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ingest.connectors.errors import ListingFailed
from ingest.connectors.types import Entry, FoundFile, SkippedFile
from ingest.connectors.walk_rules import SkipReason, WalkRules
from ingest.connectors.web.addresses import Address, QueryParameters, UrlScope, parse_address
from ingest.connectors.web.config import WebConfig
from ingest.connectors.web.content import may_be_readable
from ingest.connectors.web.discovery import RobotsFile, fetch_sitemap_pages
from ingest.connectors.web.identity import PageIdentities
from ingest.connectors.web.links import LinkResolver
from ingest.connectors.web.page_memory import KnownPages, PageMemory
from ingest.connectors.web.page_text import PageText
from ingest.connectors.web.pages import (
    FetchedPage,
    Outcome,
    PageFailed,
    PageMissing,
    PageReader,
    PageRedirect,
    PageRequest,
)
from ingest.connectors.web.requests import SiteRequests
from ingest.models import WebPage
from kebab.http_client.connections import mask_address
from search.corpus.paths import MAX_PATH_BYTES

_MAX_REDIRECTS = 10
# Addresses that don't exist, requested to see what the site shows for them.
_MAX_MADE_UP = 3
# If more pages than this, and more than this share of those requested, can't be read, the site has an outage:
# pages missing from this listing may still exist.
_TOLERATED_FAILURES = 3
_TOLERATED_SHARE = 0.2
# After so many consecutive failures the crawl ends.
_FAILURES_IN_A_ROW = 10
# Most requests per page of the limit, since redirects and dead links need requests too.
_REQUESTS_PER_PAGE = 3
_ADDRESSES_PER_PAGE = 10
# Addresses beyond the limit that are still counted.
_MAX_DROPPED = 100_000


@dataclass(slots=True)
class _Tally:
    requested: int = 0
    found: int = 0
    failed: int = 0
    failed_in_a_row: int = 0
    last_failure: str = ""


class Crawl:
    """A listing of a site for one job."""

    def __init__(
        self,
        config: WebConfig,
        rules: WalkRules,
        memory: PageMemory,
        requests: SiteRequests,
        on_position: Callable[[str], None],
    ) -> None:
        self._config = config
        self._scope: UrlScope = config.scope
        self._home = config.home
        self._memory = memory
        self._requests = requests
        self._reader = PageReader(requests, memory, rules, on_position)
        self._queue: deque[PageRequest] = deque()
        # Addresses with a query: other pages come first, should there be too many.
        self._queries: deque[PageRequest] = deque()
        # Document paths that are or were in the queue.
        self._seen_paths: set[str] = set()
        # Paths that would be read, but are beyond the limit of addresses.
        self._dropped: set[str] = set()
        self._listed: set[str] = set()
        self._listed_keys: set[str] = set()
        # By key, pages that seem to be copies of pages that were not read yet.
        self._copies: dict[str, tuple[PageRequest, WebPage]] = {}
        self._skipped: list[Entry] = []
        self._tally = _Tally()
        self._known = KnownPages(memory.documents(), config.parameters)
        telling = [name for address in self._known.addresses() for name, _ in address.parameters()]
        self._parameters = QueryParameters(telling, is_learning=config.parameters is None)
        self._identities = PageIdentities(
            {text: key for text, key in memory.texts().items() if self._known.holds(self._home.with_key(key))}
        )
        self._made_up: dict[Address, PageText] = {}

    def entries(self) -> Iterator[Entry]:
        """Yield the site's pages. Raises ListingFailed when the listing would not be reliable."""
        self._robots = RobotsFile.fetch(self._requests, self._home)
        self._requests.rate_limiter.interval_s = max(
            self._requests.rate_limiter.interval_s, self._robots.interval_s
        )
        self._queue_start()
        yield from self._visit_all()
        # A document to which no link leads any more is deleted only if its own address says so: a start page
        # that says "back soon", or a truncated sitemap, deletes nothing.
        for address in self._known.addresses():
            if self._config.scope.holds(address) or self._scope.holds(address):
                self._queue_in_scope(address, depth=self._config.max_depth)
        yield from self._visit_all()
        yield from self._skip_rest()
        for request, page in self._copies.values():
            yield self._list_or_fold(request, page)
        self._check_failures(is_end=True)
        self._known.check_answers()
        self._memory.delete_unseen()

    def _visit_all(self) -> Iterator[Entry]:
        yield from self._pop_skipped()
        while (queue := self._queue or self._queries) and self._has_room:
            yield from self._visit(queue.popleft())
            yield from self._pop_skipped()

    @property
    def _has_room(self) -> bool:
        most = self._config.max_pages
        found = self._tally.found + len(self._copies)
        return found < most and self._tally.requested < most * _REQUESTS_PER_PAGE + 100

    def _queue_start(self) -> None:
        start = self._config.start
        if start is not None:
            self._seen_paths.add(start.path)
            self._queue.append(PageRequest(address=start, is_start=True))
        if self._config.sitemap is None:
            return
        outside: set[str] = set()
        for text, base in fetch_sitemap_pages(self._requests, self._config.sitemap, self._add_skipped):
            address = parse_address(text, base=base, parameters=self._config.parameters)
            if address is not None and self._scope.holds(address):
                self._queue_address(address, depth=0)
            elif len(outside) < _MAX_DROPPED:
                outside.add(text if address is None else address.url)
        for url in sorted(outside):
            self._add_skipped(mask_address(url, keeps_path=True)[:200], SkipReason.LEADS_ELSEWHERE)
        if not self._seen_paths:
            sitemap = self._config.sitemap.without_query.url
            raise ListingFailed(f"The sitemap {sitemap} lists no page of {self._home.host}.")

    def _visit(self, request: PageRequest) -> Iterator[Entry]:
        shorter = self._parameters.shorten(request.address)
        if shorter != request.address and not request.is_start:
            self._queue_in_scope(shorter, depth=request.depth)
            return
        if not self._robots.allows(request.address.url):
            if request.is_start:
                raise ListingFailed(f"robots.txt of {self._home.host} does not allow {request.address.url}.")
            yield SkippedFile(path=request.path, reason=SkipReason.DISALLOWED_BY_ROBOTS)
            return
        if self._identities.is_endless(request.address) and not self._known.holds(request.address):
            yield SkippedFile(path=request.path, reason=SkipReason.MANY_ALIKE)
            return
        outcome = self._read(request)
        if isinstance(outcome, PageFailed):
            yield from self._record_failure(request, outcome)
            return
        self._tally.failed_in_a_row = 0
        if isinstance(outcome, PageRedirect):
            yield from self._follow_redirect(request, outcome)
        elif isinstance(outcome, PageMissing):
            yield from self._skip_missing(request, outcome)
        else:
            yield from self._list_or_skip(request, outcome)

    def _read(self, request: PageRequest) -> Outcome:
        self._tally.requested += 1
        return self._reader.read(request, self._resolver(request.address))

    def _resolver(self, address: Address) -> LinkResolver:
        names = self._config.parameters
        parameters = None if names is None else sorted(names)
        return LinkResolver(address=address, parameters=parameters, scope=self._scope)

    def _list_or_skip(self, request: PageRequest, fetched: FetchedPage) -> Iterator[Entry]:
        page, address = fetched.page, request.address
        text = PageText(**page.fingerprints)
        self._known.record(address, "" if page.is_noindex else page.content_hash, text.text)
        self._queue_links(request, page)
        is_undated_copy = not self._known.holds(address) and self._identities.is_same_undated(
            address, request.linked_by, text
        )
        self._identities.record(address, text)
        if page.is_noindex:
            yield SkippedFile(path=request.path, reason=SkipReason.NOINDEX)
        elif not self._config.is_chosen(request.path):
            yield SkippedFile(path=request.path, reason=SkipReason.EXCLUDED_PAGE)
        elif text.is_shell:
            yield SkippedFile(path=request.path, reason=SkipReason.EMPTY_PAGE)
        elif not request.is_start and text.missing and self._is_missing(address, text):
            yield SkippedFile(path=request.path, reason=SkipReason.NOT_FOUND)
        elif self._has_idle_parameter(request, text):
            yield SkippedFile(path=request.path, reason=SkipReason.SAME_TEXT)
        elif is_undated_copy:
            yield self._fold(request)
        elif (original := self._unread_original(request, page, text)) is not None:
            self._queue_in_scope(original, depth=request.depth)
            self._copies[address.key] = request, page
        else:
            yield self._list_or_fold(request, page)

    def _list_or_fold(self, request: PageRequest, page: WebPage) -> Entry:
        """List a page, unless it is a copy of a listed one."""
        text = PageText(**page.fingerprints)
        canonical = self._canonical(request, page)
        listed = canonical if canonical is not None and canonical.key in self._listed_keys else None
        is_claimed = listed is not None and self._agrees(request, listed, text)
        if is_claimed or self._identities.is_listed(text):
            return self._fold(request)
        if self._tally.found >= self._config.max_pages:
            return SkippedFile(path=request.path, reason=SkipReason.MAX_PAGES)
        self._identities.record_listed(request.address, text)
        if page.path in self._listed:
            return SkippedFile(path=page.path, reason=SkipReason.DUPLICATE_PATH)
        self._listed.add(page.path)
        self._listed_keys.add(page.key)
        self._memory.mark_listed(page)
        self._tally.found += 1
        return FoundFile(path=page.path, size_bytes=page.size_bytes, revision=page.revision)

    def _fold(self, request: PageRequest) -> Entry:
        self._identities.record_alike(request.address)
        return SkippedFile(path=request.path, reason=SkipReason.SAME_TEXT)

    def _has_idle_parameter(self, request: PageRequest, text: PageText) -> bool:
        """Return whether a parameter in the address changes nothing; the page without it is queued."""
        address = request.address
        for name, value in self._parameters.untold(address):
            shorter = address.without(name)
            other = self._peek(shorter)
            if other is None:
                continue
            is_same = self._reader.is_same(other, text, self._resolver(address))
            self._parameters.record(name, value, is_same=is_same)
            if is_same:
                self._queue_in_scope(shorter, depth=request.depth)
                return True
        return False

    def _peek(self, address: Address) -> PageText | None:
        """Return what a page shows that may not exist; None if it can't be read."""
        text = self._text_of(address)
        if text is not None or not self._robots.allows(address.url):
            return text
        outcome = self._read(PageRequest(address=address))
        if isinstance(outcome, FetchedPage):
            return PageText(**outcome.page.fingerprints)
        return None if isinstance(outcome, PageFailed) else PageText()

    def _text_of(self, address: Address) -> PageText | None:
        """Return the text of a page that this crawl has read, from where it is stored."""
        page = self._memory.find(address.key) if address.key in self._identities.read else None
        return None if page is None else PageText(**page.fingerprints)

    def _is_missing(self, address: Address, text: PageText) -> bool:
        """Return whether a page shows what its site shows for an address that does not exist."""
        made_up = address.made_up()
        if made_up not in self._made_up:
            if len(self._made_up) >= _MAX_MADE_UP:
                return False
            self._made_up[made_up] = self._peek(made_up) or PageText()
        return self._made_up[made_up].missing == text.missing

    def _unread_original(self, request: PageRequest, page: WebPage, text: PageText) -> Address | None:
        """Return the address of a page that was not read yet, and that this one may be a copy of."""
        canonical = self._canonical(request, page)
        if canonical is not None:
            is_unread = canonical.key not in self._identities.read
            if is_unread or (canonical.key in self._copies and self._agrees(request, canonical, text)):
                return canonical
        stored = self._identities.stored.get(text.text)
        if stored is None or self._known.holds(request.address) or stored in self._identities.read:
            return None
        return request.address.with_key(stored)

    def _agrees(self, request: PageRequest, canonical: Address, text: PageText) -> bool:
        """Return whether the main text of a page is that of its canonical page."""
        other = self._text_of(canonical)
        if other is None or text.main == other.main:
            return other is not None and bool(text.main)
        return self._reader.is_same(other, text, self._resolver(request.address))

    def _canonical(self, request: PageRequest, page: WebPage) -> Address | None:
        """Return the page's canonical address if it is another page of the source, else None."""
        if not page.canonical:
            return None
        address = request.address.with_key(page.canonical)
        is_ours = self._scope.holds(address) and self._config.is_chosen(address.path)
        return address if is_ours and address.path != request.path else None

    def _record_failure(self, request: PageRequest, outcome: PageFailed) -> Iterator[Entry]:
        message = f"{request.address.url} {outcome.reason}"
        if request.is_start:
            raise ListingFailed(f"{message}.")
        self._tally.failed += 1
        self._tally.failed_in_a_row += 1
        self._tally.last_failure = message
        self._check_failures(is_end=False)
        if outcome.known is not None:
            self._queue_links(request, outcome.known)
        page = self._memory.record_failure(
            request.address.key,
            outcome.known,
            url=request.address.url,
            path=request.path,
            error=outcome.reason,
        )
        if page.path not in self._listed and not page.is_noindex:
            self._listed.add(page.path)
            self._memory.mark_listed(page)
            # Without a revision it counts as changed; reading it then reports the reason.
            yield FoundFile(path=page.path, size_bytes=0)

    def _skip_missing(self, request: PageRequest, outcome: PageMissing) -> Iterator[Entry]:
        if request.is_start:
            raise ListingFailed(f"{request.address.url} {outcome.detail}.")
        yield SkippedFile(path=request.path, reason=outcome.reason)

    def _follow_redirect(self, request: PageRequest, outcome: PageRedirect) -> Iterator[Entry]:
        target = parse_address(outcome.location, base=request.address, parameters=self._config.parameters)
        self._known.record(request.address, "" if target is None else target.url)
        reason = self._redirect_refusal(request, target)
        if reason is not None and request.is_start:
            raise ListingFailed(_start_redirect_message(request, target, reason))
        if target is not None and request.is_start:
            self._move_scope(request, target)
        if reason is not None or target is None:
            yield SkippedFile(path=request.path, reason=reason or SkipReason.LEADS_ELSEWHERE)
            return
        is_same_page = request.is_start or target.path == request.path
        if target.path in self._seen_paths and not is_same_page:
            return
        self._seen_paths.add(target.path)
        reason = None if is_same_page else self._skip_reason(target.path, request.depth)
        if reason is None:
            self._queue.appendleft(request.redirect_to(target))
        else:
            self._add_skipped(target.path, reason)

    def _move_scope(self, request: PageRequest, target: Address) -> None:
        """Move the scope to below the target of the start page. Raises ListingFailed if that widens it."""
        if self._scope.holds(target):
            return
        self._scope = UrlScope.below(target)
        if self._config.scope.prefix.startswith(self._scope.prefix):
            raise ListingFailed(
                f"{request.address.url} redirects to {target.url}, and what lies below that is more than"
                " was asked for; give that address, or whole_host."
            )

    def _redirect_refusal(self, request: PageRequest, target: Address | None) -> SkipReason | None:
        if target is None or target.site != self._scope.site:
            return SkipReason.LEADS_ELSEWHERE
        if (request.address.scheme, target.scheme) == ("https", "http"):
            return SkipReason.LEADS_ELSEWHERE
        if not request.is_start and not self._scope.holds(target):
            return SkipReason.LEADS_ELSEWHERE
        trail = (*request.trail, request.address.request_url)
        is_loop = target.request_url in trail or len(trail) > _MAX_REDIRECTS
        return SkipReason.REDIRECT_LOOP if is_loop else None

    def _queue_links(self, request: PageRequest, page: WebPage) -> None:
        if self._config.start is None:
            return
        for key in page.links:
            address = request.address.with_key(key)
            self._queue_address(address, depth=request.depth + 1, linked_by=request.address.key)

    def _queue_address(self, address: Address, *, depth: int, linked_by: str = "") -> None:
        """Queue a page, unless it was queued before or is skipped."""
        if not self._scope.holds(address):
            return
        if self._can_queue_more:
            for each in self._parameters.admit(address):
                self._queue_in_scope(each, depth=depth, linked_by=linked_by)
        elif len(self._dropped) < _MAX_DROPPED and self._skip_reason(address.path, depth) is None:
            self._dropped.add(address.path)

    def _queue_in_scope(self, address: Address, *, depth: int, linked_by: str = "") -> None:
        path = address.path
        if path in self._seen_paths:
            return
        self._seen_paths.add(path)
        reason = self._skip_reason(path, depth)
        if reason is None:
            queue = self._queries if "?" in address.key else self._queue
            queue.append(PageRequest(address=address, depth=depth, linked_by=linked_by))
        else:
            self._add_skipped(path, reason)

    def _skip_reason(self, path: str, depth: int) -> SkipReason | None:
        if not self._config.is_chosen(path):
            return SkipReason.EXCLUDED_PAGE
        if depth > self._config.max_depth:
            return SkipReason.MAX_DEPTH
        if len(path.encode()) > MAX_PATH_BYTES - len(".html") or not may_be_readable(path.partition("?")[0]):
            return SkipReason.NO_PARSER
        return None

    @property
    def _can_queue_more(self) -> bool:
        return len(self._seen_paths) < self._config.max_pages * _ADDRESSES_PER_PAGE + 1_000

    def _add_skipped(self, path: str, reason: SkipReason) -> None:
        self._skipped.append(SkippedFile(path=path, reason=reason))

    def _pop_skipped(self) -> Iterator[Entry]:
        skipped, self._skipped = self._skipped, []
        yield from skipped

    def _skip_rest(self) -> Iterator[Entry]:
        for request in (*self._queue, *self._queries):
            yield SkippedFile(path=request.path, reason=SkipReason.MAX_PAGES)
        for path in sorted(self._dropped - self._seen_paths):
            yield SkippedFile(path=path, reason=SkipReason.MAX_PAGES)

    def _check_failures(self, *, is_end: bool) -> None:
        tally = self._tally
        is_down = tally.failed_in_a_row >= _FAILURES_IN_A_ROW
        is_mostly_down = (
            is_end
            and tally.failed > _TOLERATED_FAILURES
            and tally.failed > tally.requested * _TOLERATED_SHARE
        )
        if is_down or is_mostly_down:
            raise ListingFailed(
                f"{tally.failed} of {tally.requested} pages could not be read, the last one because"
                f" {tally.last_failure}. Sync again when the site answers."
            )


def _start_redirect_message(request: PageRequest, target: Address | None, reason: SkipReason) -> str:
    if target is None:
        return f"{request.address.url} redirects to an invalid address."
    if reason is SkipReason.REDIRECT_LOOP:
        return f"{request.address.url} redirects in a circle, or more than {_MAX_REDIRECTS} times."
    return (
        f"{request.address.url} redirects to {target.scheme}://{target.host}, and a source reads one host"
        " alone; make one for that address."
    )
