"""One listing of a site: which pages there are, breadth first, each asked for once."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ingest.connectors.errors import ListingFailed
from ingest.connectors.types import Entry, FoundFile, SkippedFile
from ingest.connectors.walk_rules import SkipReason, WalkRules
from ingest.connectors.web.addresses import Address, Scope, read_address
from ingest.connectors.web.config import WebConfig
from ingest.connectors.web.content import is_worth_asking
from ingest.connectors.web.discovery import RobotsFile, sitemap_pages
from ingest.connectors.web.known_pages import KnownPages
from ingest.connectors.web.page_memory import PageMemory
from ingest.connectors.web.pages import Failed, Missing, PageReader, Redirected, Seen, Wanted
from ingest.connectors.web.requests import SiteRequests
from ingest.models import WebPage
from search.corpus.paths import MAX_PATH_BYTES

_MAX_REDIRECTS = 10
# A site where more than this many pages, and more than this share of those asked for, can't be read is
# having a bad day: what it doesn't show now may still be there.
_TOLERATED_FAILURES = 3
_TOLERATED_SHARE = 0.2
# After so many in a row the rest is not tried.
_FAILURES_IN_A_ROW = 10
# Redirects, dead links and the like count against this many requests for each page that may be found.
_REQUESTS_PER_PAGE = 3
_ADDRESSES_PER_PAGE = 10
# Beyond the addresses that are looked at, so many more are counted.
_MAX_DROPPED = 100_000


@dataclass(slots=True)
class _Tally:
    asked: int = 0
    found: int = 0
    failed: int = 0
    failed_in_a_row: int = 0
    last_failure: str = ""


class Crawl:
    """Lists a site for one job."""

    def __init__(
        self,
        config: WebConfig,
        rules: WalkRules,
        memory: PageMemory,
        requests: SiteRequests,
        when_at: Callable[[str], None],
    ) -> None:
        self._config = config
        self._scope: Scope = config.scope
        self._home = config.home
        self._memory = memory
        self._requests = requests
        self._reader = PageReader(requests, memory, rules, when_at)
        self._queue: deque[Wanted] = deque()
        # Document paths that are or were in the queue, and those that have been listed.
        self._met: set[str] = set()
        # Those that would be read, but are too many to be met.
        self._dropped: set[str] = set()
        self._listed: set[str] = set()
        self._listed_keys: set[str] = set()
        self._aliases: list[WebPage] = []
        self._noted: list[Entry] = []
        self._tally = _Tally()
        self._known = KnownPages(memory.documents(), config.parameters)

    def entries(self) -> Iterator[Entry]:
        """Return the site's pages. Raises ListingFailed when it can't be told what the site holds."""
        self._robots = RobotsFile.fetch(self._requests, self._home)
        self._requests.pace.interval_s = max(self._requests.pace.interval_s, self._robots.interval_s)
        self._begin()
        yield from self._visit_all()
        self._want_known()
        yield from self._visit_all()
        yield from self._left_out()
        yield from self._unclaimed()
        self._check_failures(is_end=True)
        self._known.check()
        self._memory.forget_the_rest()

    def _visit_all(self) -> Iterator[Entry]:
        yield from self._take_noted()
        while self._queue and self._has_room:
            yield from self._visit(self._queue.popleft())
            yield from self._take_noted()

    @property
    def _has_room(self) -> bool:
        most = self._config.max_pages
        return self._tally.found < most and self._tally.asked < most * _REQUESTS_PER_PAGE + 100

    def _begin(self) -> None:
        start = self._config.start
        if start is not None:
            self._met.add(start.path)
            self._queue.append(Wanted(address=start, is_start=True))
        if self._config.sitemap is None:
            return
        for text in sitemap_pages(self._requests, self._config.sitemap, self._note):
            address = read_address(text, base=self._home, parameters=self._config.parameters)
            if address is not None and self._scope.holds(address):
                self._want(address, depth=0)
        if not self._met:
            raise ListingFailed(f"The sitemap {self._config.sitemap.url} lists no page of {self._home.host}.")

    def _want_known(self) -> None:
        """Ask for each document that nothing leads to any more: it goes when its own address says so.

        A start page that says "back soon", or a sitemap that was cut off, takes nothing with it.
        """
        for address in self._known.addresses():
            if self._config.scope.holds(address) or self._scope.holds(address):
                self._want_in_scope(address, depth=self._config.max_depth)

    def _visit(self, wanted: Wanted) -> Iterator[Entry]:
        if not self._robots.allow(wanted.address.url):
            if wanted.is_start:
                raise ListingFailed(f"robots.txt of {self._home.host} does not allow {wanted.address.url}.")
            yield SkippedFile(path=wanted.path, reason=SkipReason.DISALLOWED_BY_ROBOTS)
            return
        self._tally.asked += 1
        outcome = self._reader.read(wanted, self._config.parameters, self._scope)
        if isinstance(outcome, Failed):
            yield from self._fail(wanted, outcome)
            return
        self._tally.failed_in_a_row = 0
        if isinstance(outcome, Redirected):
            yield from self._redirect(wanted, outcome)
        elif isinstance(outcome, Missing):
            yield from self._miss(wanted, outcome)
        else:
            yield from self._take(wanted, outcome)

    def _take(self, wanted: Wanted, seen: Seen) -> Iterator[Entry]:
        page = seen.page
        self._known.note(wanted.address, "" if page.is_noindex else page.content_hash)
        self._follow(wanted, page)
        canonical = self._canonical(wanted, page)
        if page.is_noindex:
            yield SkippedFile(path=wanted.path, reason=SkipReason.NOINDEX)
        elif not self._config.is_chosen(wanted.path):
            yield SkippedFile(path=wanted.path, reason=SkipReason.EXCLUDED_PAGE)
        elif canonical is not None:
            self._want(canonical, depth=wanted.depth)
            self._aliases.append(page)
        else:
            yield self._list(page)

    def _canonical(self, wanted: Wanted, page: WebPage) -> Address | None:
        """Return the page that this one says it is a copy of, when that is another one of the source."""
        if not page.canonical:
            return None
        address = wanted.address.at(page.canonical)
        is_ours = self._scope.holds(address) and self._config.is_chosen(address.path)
        return address if is_ours and address.path != wanted.path else None

    def _unclaimed(self) -> Iterator[Entry]:
        """Copies whose original isn't there are pages in their own right."""
        for page in self._aliases:
            if page.canonical not in self._listed_keys:
                yield self._list(page)

    def _list(self, page: WebPage) -> Entry:
        if page.path in self._listed:
            return SkippedFile(path=page.path, reason=SkipReason.DUPLICATE_PATH)
        self._listed.add(page.path)
        self._listed_keys.add(page.key)
        self._memory.note_listed(page)
        self._tally.found += 1
        return FoundFile(path=page.path, size_bytes=page.size_bytes, revision=page.revision)

    def _fail(self, wanted: Wanted, outcome: Failed) -> Iterator[Entry]:
        message = f"{wanted.address.url} {outcome.reason}"
        if wanted.is_start:
            raise ListingFailed(f"{message}.")
        self._tally.failed += 1
        self._tally.failed_in_a_row += 1
        self._tally.last_failure = message
        self._check_failures(is_end=False)
        if outcome.known is not None:
            self._follow(wanted, outcome.known)
        page = self._memory.note_failure(
            wanted.address.key,
            outcome.known,
            url=wanted.address.url,
            path=wanted.path,
            error=outcome.reason,
        )
        if page.path not in self._listed and not page.is_noindex:
            self._listed.add(page.path)
            self._memory.note_listed(page)
            # Without a revision it differs from what is indexed; reading it then gives the reason.
            yield FoundFile(path=page.path, size_bytes=0)

    def _miss(self, wanted: Wanted, outcome: Missing) -> Iterator[Entry]:
        if wanted.is_start:
            raise ListingFailed(f"{wanted.address.url} {outcome.detail}.")
        yield SkippedFile(path=wanted.path, reason=outcome.reason)

    def _redirect(self, wanted: Wanted, outcome: Redirected) -> Iterator[Entry]:
        target = read_address(outcome.location, base=wanted.address, parameters=self._config.parameters)
        self._known.note(wanted.address, "" if target is None else target.url)
        reason = self._refused_redirect(wanted, target)
        if reason is not None and wanted.is_start:
            raise ListingFailed(_start_leads_away(wanted, target, reason))
        if target is not None and wanted.is_start:
            self._move_scope(wanted, target)
        if reason is not None or target is None:
            yield SkippedFile(path=wanted.path, reason=reason or SkipReason.LEADS_ELSEWHERE)
            return
        is_same_page = wanted.is_start or target.path == wanted.path
        if target.path in self._met and not is_same_page:
            return
        self._met.add(target.path)
        reason = None if is_same_page else self._left_out_unasked(target.path, wanted.depth)
        if reason is None:
            self._queue.appendleft(wanted.led_to(target))
        else:
            self._note(target.path, reason)

    def _move_scope(self, wanted: Wanted, target: Address) -> None:
        """Read what lies below where the start page leads. Raises ListingFailed where that is more."""
        if self._scope.holds(target):
            return
        self._scope = Scope.below(target)
        if self._config.scope.prefix.startswith(self._scope.prefix):
            raise ListingFailed(
                f"{wanted.address.url} redirects to {target.url}, and what lies below that is more than"
                " was asked for; give that address, or whole_host."
            )

    def _refused_redirect(self, wanted: Wanted, target: Address | None) -> SkipReason | None:
        if target is None or target.site != self._scope.site:
            return SkipReason.LEADS_ELSEWHERE
        if (wanted.address.scheme, target.scheme) == ("https", "http"):
            return SkipReason.LEADS_ELSEWHERE
        if not wanted.is_start and not self._scope.holds(target):
            return SkipReason.LEADS_ELSEWHERE
        trail = (*wanted.trail, wanted.address.url)
        is_loop = target.url in trail or len(trail) > _MAX_REDIRECTS
        return SkipReason.REDIRECT_LOOP if is_loop else None

    def _follow(self, wanted: Wanted, page: WebPage) -> None:
        if self._config.start is None:
            return
        for key in page.links:
            self._want(wanted.address.at(key), depth=wanted.depth + 1)

    def _want(self, address: Address, *, depth: int) -> None:
        """Put a page into the queue, unless it has been there or is left out."""
        if not self._scope.holds(address):
            return
        if self._may_meet_more:
            self._want_in_scope(address, depth=depth)
        elif len(self._dropped) < _MAX_DROPPED and self._left_out_unasked(address.path, depth) is None:
            self._dropped.add(address.path)

    def _want_in_scope(self, address: Address, *, depth: int) -> None:
        path = address.path
        if path in self._met:
            return
        self._met.add(path)
        reason = self._left_out_unasked(path, depth)
        if reason is None:
            self._queue.append(Wanted(address=address, depth=depth))
        else:
            self._note(path, reason)

    def _left_out_unasked(self, path: str, depth: int) -> SkipReason | None:
        if not self._config.is_chosen(path):
            return SkipReason.EXCLUDED_PAGE
        if depth > self._config.max_depth:
            return SkipReason.MAX_DEPTH
        if len(path.encode()) > MAX_PATH_BYTES - len(".html") or not is_worth_asking(path):
            return SkipReason.NO_PARSER
        return None

    @property
    def _may_meet_more(self) -> bool:
        return len(self._met) < self._config.max_pages * _ADDRESSES_PER_PAGE + 1_000

    def _note(self, path: str, reason: SkipReason) -> None:
        self._noted.append(SkippedFile(path=path, reason=reason))

    def _take_noted(self) -> Iterator[Entry]:
        noted, self._noted = self._noted, []
        yield from noted

    def _left_out(self) -> Iterator[Entry]:
        for wanted in self._queue:
            yield SkippedFile(path=wanted.path, reason=SkipReason.MAX_PAGES)
        for path in sorted(self._dropped - self._met):
            yield SkippedFile(path=path, reason=SkipReason.MAX_PAGES)

    def _check_failures(self, *, is_end: bool) -> None:
        tally = self._tally
        is_down = tally.failed_in_a_row >= _FAILURES_IN_A_ROW
        is_mostly_down = (
            is_end and tally.failed > _TOLERATED_FAILURES and tally.failed > tally.asked * _TOLERATED_SHARE
        )
        if is_down or is_mostly_down:
            raise ListingFailed(
                f"{tally.failed} of {tally.asked} pages could not be read, the last one because"
                f" {tally.last_failure}. Sync again when the site answers."
            )


def _start_leads_away(wanted: Wanted, target: Address | None, reason: SkipReason) -> str:
    if target is None:
        return f"{wanted.address.url} redirects to what is no address."
    if reason is SkipReason.REDIRECT_LOOP:
        return f"{wanted.address.url} redirects in a circle, or more than {_MAX_REDIRECTS} times."
    return (
        f"{wanted.address.url} redirects to {target.scheme}://{target.host}, and a source reads one host"
        " alone; make one for that address."
    )
