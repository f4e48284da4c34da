"""Reading one page of a site: what came, and what it says to crawlers."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Final, Self
from urllib.parse import urljoin

from ingest.connectors.walk_rules import SkipReason, WalkRules
from ingest.connectors.web.addresses import MAX_ADDRESS_CHARS, Address, Scope, read_address
from ingest.connectors.web.content import HTML, in_utf8, limit_bytes, mime_of, readable_path
from ingest.connectors.web.links import PageLinks, scan_links
from ingest.connectors.web.page_memory import PageMemory
from ingest.connectors.web.requests import SiteRequests
from ingest.connectors.web.robots import ROBOT, Directives
from ingest.models import WebPage
from ingest.parsers.decoding import decode
from kebab.http_client.download import Answer
from kebab.http_client.errors import AnswerTooLarge, RequestFailed

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_GONE: Final = frozenset({404, 410})
_NOT_MODIFIED = 304
MAX_LOCATION_CHARS: Final = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A page that is to be asked for."""

    address: Address
    #: Links from the start page to here.
    depth: int = 0
    is_start: bool = False
    #: The addresses that redirected here.
    trail: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Return the path of the document that its address gives."""
        return self.address.path

    def led_to(self, target: Address) -> Self:
        """Return what this one redirects to."""
        return replace(self, address=target, trail=(*self.trail, self.address.url))


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A page that is there."""

    page: WebPage


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirected:
    """A page that is somewhere else."""

    location: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A page that is none of the source's documents; `detail` completes a sentence."""

    reason: SkipReason
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A page of which nothing can be told now; `reason` completes a sentence."""

    reason: str
    known: WebPage | None


Outcome = Seen | Redirected | Missing | Failed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A page that is asked for, and what was remembered of it."""

    address: Address
    known: WebPage | None
    links: "_LinkReader"


class PageReader:
    """Asks for pages of one site, and remembers what came."""

    def __init__(
        self,
        requests: SiteRequests,
        memory: PageMemory,
        rules: WalkRules,
        when_at: Callable[[str], None],
    ) -> None:
        self._requests = requests
        self._memory = memory
        self._rules = rules
        self._when_at = when_at

    def read(self, wanted: Wanted, parameters: Collection[str], scope: Scope) -> Outcome:
        """Return what came of asking for a page; one that this job has read already isn't asked for again."""
        known = self._memory.find(wanted.address.key)
        if known is not None and self._memory.is_fresh(known):
            return _remembered(known)
        self._when_at(wanted.path)
        asked = _Asked(address=wanted.address, known=known, links=_LinkReader(parameters, scope))
        try:
            with self._requests.get(wanted.address, self._memory.validators(known)) as answer:
                outcome = self._outcome(answer, asked)
        except AnswerTooLarge as error:
            outcome = Missing(reason=SkipReason.TOO_LARGE, detail=str(error))
        except RequestFailed as error:
            return Failed(reason=str(error), known=known)
        self._note(wanted, outcome, known)
        return outcome

    def _note(self, wanted: Wanted, outcome: Outcome, known: WebPage | None) -> None:
        """Remember that an address is no page, so that a job that goes on need not ask for it again."""
        address = wanted.address
        none = {"key": address.key, "url": address.url, "path": wanted.path, "content": None, "known": known}
        if isinstance(outcome, Redirected) and len(outcome.location) <= MAX_LOCATION_CHARS:
            self._memory.remember(**none, leads_to=outcome.location)
        elif isinstance(outcome, Missing):
            self._memory.remember(**none, skipped=outcome.reason)

    def _outcome(self, answer: Answer, asked: _Asked) -> Outcome:
        known = asked.known
        if answer.status in REDIRECTS and answer.header("location"):
            return Redirected(location=answer.header("location"))
        if answer.status == _NOT_MODIFIED and known is not None:
            return Seen(page=self._memory.confirm(known, asked.address.url))
        if answer.status in _GONE:
            return Missing(reason=SkipReason.NOT_FOUND, detail=f"answered {answer.status}")
        if answer.status != 200:
            return Failed(reason=f"answered {answer.status}", known=known)
        mime = mime_of(answer.header("content-type"))
        path = readable_path(asked.address.path, mime)
        if path is None:
            return Missing(
                reason=SkipReason.NO_PARSER, detail=f"is {mime or 'of no type'}, which is not read"
            )
        left_out = self._rules.skip_by_name(path)
        if left_out is not None:
            return Missing(reason=left_out, detail="has a name that is left out")
        return Seen(page=self._remember(answer, asked, path, mime))

    def _remember(self, answer: Answer, asked: _Asked, path: str, mime: str) -> WebPage:
        content = in_utf8(answer.read(limit_bytes(path, self._rules)), answer.header("content-type"))
        said = scan_links(decode(content), ROBOT) if mime in HTML else PageLinks()
        told = Directives.read(said.robots, answer.headers("x-robots-tag"))
        return self._memory.remember(
            asked.address.key,
            None if told.noindex else content,
            known=asked.known,
            url=asked.address.url,
            path=path,
            is_noindex=told.noindex,
            etag=answer.header("etag"),
            last_modified=answer.header("last-modified"),
            links=[] if told.nofollow else asked.links.keys(said, asked.address),
            canonical=asked.links.canonical(said, asked.address),
        )


def _remembered(page: WebPage) -> Outcome:
    if page.error:
        return Failed(reason=page.error, known=page)
    if page.leads_to:
        return Redirected(location=page.leads_to)
    if page.skipped:
        return Missing(reason=SkipReason(page.skipped), detail=f"was left out: {page.skipped}")
    return Seen(page=page)


class _LinkReader:
    """From links as pages write them to keys of the source's own pages."""

    def __init__(self, parameters: Collection[str], scope: Scope) -> None:
        self._parameters = parameters
        self._scope = scope

    def keys(self, said: PageLinks, address: Address) -> list[str]:
        """Return the keys of the pages that a page leads to, each once, in its order."""
        found = (self._read(said, address, link) for link in said.links)
        return list(dict.fromkeys(each.key for each in found if each is not None))

    def canonical(self, said: PageLinks, address: Address) -> str:
        """Return the key of what a page says is its address; '' for none, or another source's."""
        found = None if said.canonical is None else self._read(said, address, said.canonical)
        return "" if found is None else found.key

    def _read(self, said: PageLinks, address: Address, link: str) -> Address | None:
        base = said.base or ""
        try:
            text = urljoin(base, link) if len(base) <= MAX_ADDRESS_CHARS else link
        except ValueError:  # brackets that hold no address
            return None
        found = read_address(text, base=address, parameters=self._parameters)
        return found if found is not None and self._scope.holds(found) else None
