"""Issues of GitHub and GitLab: their listing by time of change, and their documents in Markdown."""

import hashlib
import json
import re
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Any, Final, Self
from urllib.parse import unquote, urlencode

from ingest.connectors.errors import ListingFailed
from ingest.connectors.records.requests import (
    Answer,
    ReaderSettings,
    ServerRequests,
    check_host,
    parse_server,
)
from ingest.connectors.records.wire import CompleteRecord, CursorRecord, DeletedRecord, DocumentRecord, Record
from ingest.connectors.web.addresses import Address
from ingest.errors import AddressNotAllowed

MAX_DEPTH: Final = 100
#: texts, brackets and commas, each with a value of up to 200 bytes of memory
MAX_MARKS: Final = 1_000_000
# A text may lack its end, or each quotation mark in it would be tried as a start.
_TEXT: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_STEPS: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1, ord(","): 0}
_LEAVES: Final = bytes(set(range(256)) - _STEPS.keys())


def parse_json(content: bytes) -> Any:
    """Return the value of a text in UTF-8. Raises ValueError, also for one that is over the limits."""
    # Quotation marks inside of texts are escaped.
    if content.count(b'"') - content.count(b'\\"') > 2 * MAX_MARKS:
        raise ValueError(f"it has more than {MAX_MARKS:,} texts")
    structure = _TEXT.sub(b"", content).translate(None, _LEAVES)
    if len(structure) > MAX_MARKS:
        raise ValueError(f"it has more than {MAX_MARKS:,} brackets and commas")
    if max(accumulate(map(_STEPS.__getitem__, structure)), default=0) > MAX_DEPTH:
        raise ValueError(f"it has more than {MAX_DEPTH} levels")
    return json.loads(content.decode("utf-8-sig", "surrogatepass"))


# RFC 8288, as GitHub writes it.
_NEXT: Final = re.compile(r'<[^>]{0,2000}>;[^,]{0,500}\brel="?next\b')


class JsonServer:
    """A server below one address, whose answers are JSON."""

    def __init__(
        self, address: Address, settings: ReaderSettings, headers: Callable[[], Mapping[str, str]]
    ) -> None:
        self.host = address.host
        self._base = address.key.rstrip("/")
        self._requests = ServerRequests(address, settings)
        self._headers = headers
        #: Issues of a page.
        self.page_items = settings.limits.page_items

    def get(
        self,
        path: str,
        query: Mapping[str, Any],
        *,
        limit_bytes: int | None = None,
        form: type[Any] = dict,
        accepted: Collection[int] = (200,),
    ) -> tuple[Any, Answer]:
        """Return the parsed response of a listing, a value of type `form`, and the response.

        Raises ListingFailed, also for a status that is not accepted, SourceAway.
        """
        answer = self._send("GET", self._key(path, query), limit_bytes)
        if answer.status not in accepted:
            self._requests.fail_listing(answer)
        return self._parse(answer, form), answer

    def post(self, path: str, form: Mapping[str, str]) -> tuple[Any, Answer]:
        """Return the parsed response to a form, and the response. Raises ListingFailed, SourceAway."""
        content = urlencode(form).encode()
        answer = self._send("POST", self._key(path, {}), None, content)
        if answer.status != 200:
            self._requests.fail_listing(answer)
        return self._parse(answer, dict), answer

    def fetch(self, path: str, query: Mapping[str, Any], *, limit_bytes: int) -> tuple[Any, Answer]:
        """Return the parsed response of a document, and the response.

        Raises FileNotFoundError, OSError, SourceAway.
        """
        answer = self._requests.fetch_answer(
            self._key(path, query), limit_bytes=limit_bytes, headers=self._headers
        )
        with self._refused_json(OSError):
            return parse_json(answer.body), answer

    @contextmanager
    def expected_form(self, error_type: type[Exception] = ListingFailed) -> Iterator[None]:
        """Map the errors of reading JSON that has another form than documented to `error_type`."""
        try:
            yield
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise error_type(f"{self.host} answers JSON of another form than documented.") from error

    @contextmanager
    def _refused_json(self, error_type: type[Exception]) -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            raise error_type(f"{self.host} answers no JSON that can be read: {error}.") from error

    def close(self) -> None:
        """Close the connections."""
        self._requests.close()

    def _key(self, path: str, query: Mapping[str, Any]) -> str:
        return f"{self._base}{path}" + (f"?{urlencode(query)}" if query else "")

    def _send(self, method: str, key: str, limit_bytes: int | None, content: bytes | None = None) -> Answer:
        form = {} if content is None else {"Content-Type": "application/x-www-form-urlencoded"}
        return self._requests.request(
            method, key, limit_bytes=limit_bytes, headers=lambda: {**self._headers(), **form}, content=content
        )

    def _parse(self, answer: Answer, form: type[Any]) -> Any:
        with self._refused_json(ListingFailed):
            found = parse_json(answer.body)
        with self.expected_form():
            # An empty list ends a listing; an empty answer of another kind must not.
            if answer.status == 200 and not isinstance(found, form):
                raise TypeError(form)
        return found


def has_next_page(answer: Answer) -> bool:
    """Return whether a page of GitHub (`Link`) or GitLab (`X-Next-Page`) is followed by another."""
    return bool(answer.headers["x-next-page"] or _NEXT.search(answer.headers["link"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeCursor:
    """The state of a reader that lists what has changed since a time of the server's clock."""

    #: "" before the first listing
    since: str = ""
    #: start of the last whole listing, in ISO format
    listed_at: str = ""

    @classmethod
    def parse(cls, state: str, relist_after_s: float) -> Self:
        """Return the cursor to go on from: that of the first listing if a whole one is due."""
        cursor = cls(**json.loads(state)) if state else cls()
        age = datetime.now(UTC) - datetime.fromisoformat(cursor.listed_at) if cursor.since else timedelta.max
        return cls.first() if age >= timedelta(seconds=relist_after_s) else cursor

    @classmethod
    def first(cls) -> Self:
        """Return the cursor of a listing of everything that begins now."""
        return cls(listed_at=datetime.now(UTC).isoformat())

    @property
    def is_first(self) -> bool:
        """Return whether everything is listed."""
        return not self.since

    def end(self, since: str, *, is_whole: bool = True) -> Iterator[Record]:
        """Yield the records that end a listing; the next one goes on from `since`."""
        if self.is_first and is_whole:
            yield CompleteRecord()
        yield CursorRecord(state=json.dumps(asdict(self) | {"since": since}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """A comment on an issue, called note at GitLab."""

    author: str
    created_at: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """An issue, as a listing shows it."""

    number: int
    updated_at: datetime
    title: str
    text: str
    author: str
    comment_count: int
    metadata: Mapping[str, Any] = field(default_factory=dict)
    folder: str = "issues"
    #: Whether only some of those who see the others see it.
    is_confidential: bool = False
    #: Whether it is of a kind that the source reads.
    is_wanted: bool = True

    @property
    def path(self) -> str:
        """Return the path of its document."""
        return f"{self.folder}/{self.number}.md"

    def record(self) -> Record:
        """Return its record: with the content if it has no comments, which are fetched."""
        if self.is_confidential:
            return DeletedRecord(path=self.path)
        # Labels can be renamed without a change of the issue.
        stated = json.dumps([self.title, self.author, self.comment_count, self.metadata], sort_keys=True)
        return DocumentRecord(
            path=self.path,
            version=f"{self.updated_at.isoformat()} {hashlib.sha256(stated.encode()).hexdigest()[:16]}",
            content=None if self.comment_count else self.render(()),
            locator=str(self.number),
            title=self.title,
            author=self.author,
            dated=self.updated_at,
            metadata=self.metadata,
        )

    def render(self, comments: Sequence[Comment]) -> bytes:
        """Return its document: the title, the text, and a section per comment."""
        sections = [f"# {self.title}", self.text]
        for comment in comments:
            sections += [f"## {comment.author}, {comment.created_at[:10]}", comment.text]
        return "\n\n".join(sections).encode(errors="replace") + b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Forge:
    """A repository of GitHub or project of GitLab: its path there, and the address of the API."""

    path: str
    api: Address


#: Returns the issues of a page since a time, by time of change, and whether another page follows.
ListPage = Callable[[str, int], tuple[Sequence[Issue], bool]]


def list_issues(list_page: ListPage, cursor: ChangeCursor) -> Generator[Record, None, str]:
    """Yield the records of the issues that have changed, and return the time of the last change.

    Each page begins at the time where the one before ended: issues that change or vanish meanwhile would
    move others across the borders of numbered pages. Raises ListingFailed, SourceAway.
    """
    last = datetime.fromisoformat(cursor.since) if cursor.since else None
    since, page = _start_before(last), 1
    before, seen = set[tuple[datetime, str]](), set[tuple[datetime, str]]()
    while True:
        issues, is_followed = list_page(_format_time(since), page)
        if issues and since and issues[0].updated_at < since:
            raise ListingFailed("The server does not list issues by the time of their last change.")
        listed = {(issue.updated_at, issue.path) for issue in issues}
        if page > 1 and issues and listed == before:
            raise ListingFailed("The server repeats a page of its issues.")
        for issue in issues:
            if issue.is_wanted and (issue.updated_at, issue.path) not in seen:
                yield issue.record()
        last = issues[-1].updated_at if issues else last
        if not issues or not is_followed:
            return _format_time(last)
        following = _start_before(last)
        if since is not None and following is not None:
            following = max(since, following)
        page = page + 1 if following == since else 1
        since = following
        before = listed
        seen |= listed
        seen = {each for each in seen if since is None or each[0] >= since}


def _start_before(at: datetime | None) -> datetime | None:
    """Return the time to list from: servers differ in whether they list what changed at the time itself."""
    return None if at is None else at - timedelta(seconds=1)


def fetch_pages(
    server: JsonServer, path: str, query: Mapping[str, Any], limit_bytes: int
) -> Iterator[Mapping[str, Any]]:
    """Yield the items of all pages, such as comments. Raises FileNotFoundError, OSError, SourceAway."""
    page, is_followed = 1, True
    while is_followed:
        paged = {**query, "per_page": server.page_items, "page": page}
        items, answer = server.fetch(path, paged, limit_bytes=limit_bytes)
        limit_bytes -= len(answer.body)
        yield from items
        page, is_followed = page + 1, bool(items) and has_next_page(answer)


def parse_forge(config: Mapping[str, Any], derive_api: Callable[[Address], str]) -> Forge:
    """Return the repository or project at `url`, whose path has two parts or more.

    The API is at `api_url`, else where `derive_api` says. Raises AddressNotAllowed.
    """
    page = parse_server(config["url"])
    api = parse_server(config.get("api_url") or derive_api(page))
    # An installation below a path has its API below the same.
    root = api.key.partition("/api/")[0] if config.get("api_url") else ""
    path = unquote(page.key).removeprefix(root).strip("/").removesuffix(".git")
    if "/" not in path:
        raise AddressNotAllowed("Give the address of a repository, such as https://github.com/owner/project.")
    return Forge(path=path, api=api)


def check_forge(config: Mapping[str, Any], derive_api: Callable[[Address], str]) -> dict[str, Any]:
    """Return the config with its addresses in normal form. Raises AddressNotAllowed."""
    forge = parse_forge(config, derive_api)
    check_host(forge.api.host, forge.api.port)
    url = parse_server(config["url"]).url.rstrip("/").removesuffix(".git")
    return {**config, "url": url, **({"api_url": forge.api.url} if config.get("api_url") else {})}


def _format_time(at: datetime | None) -> str:
    if at is None:
        return ""
    precision = "milliseconds" if at.microsecond else "seconds"
    return at.astimezone(UTC).isoformat(timespec=precision).replace("+00:00", "Z")
