"""A server with the Action API of MediaWiki."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qs

from tests.integration.ingest.connectors.records.web_host import JsonHost, format_time

_MOST = 500


@dataclass(kw_only=True)
class StubPage:
    """A page with its last revision."""

    page_id: int
    title: str
    namespace: int
    revision: int
    at: datetime
    text: str
    is_redirect: bool = False


class WikiHost(JsonHost):
    """A wiki that only users read; its lists return the oldest entries first, or by title.

    After "API:Query", "API:Continue", "API:Allpages", "API:Info", "API:Revisions", "API:RecentChanges",
    "API:Logevents", "API:Parsing wikitext", "API:Login" and "API:Errors and warnings" of mediawiki.org, in
    `formatversion=2`.
    """

    kind = "mediawiki"

    def __init__(self) -> None:
        super().__init__(lambda environ: "action=parse" in environ["QUERY_STRING"])
        self.pages: dict[str, StubPage] = {}
        #: Changes with the ids of their pages, as the wiki lists them for some time; 0: that is hidden.
        self.changes: list[tuple[datetime, int]] = [(self.now - timedelta(days=30), 0)]
        self.deletions: list[tuple[datetime, int]] = []
        #: Whether the next list of pages ends without an end.
        self.breaks_off = False
        place = {"url": f"{self.url}/w/api.php"}
        login = {"username": "Ada@kebab", "password": "s3cret"}
        self.config = {**place, "credentials": login}
        self.wrong_config = {**place, "credentials": {**login, "password": "other"}}

    def put(self, name: str, text: str, namespace: int = 0) -> None:
        """Create a page, or edit it."""
        at = self.tick()
        known = self.pages.get(name)
        page_id = len(self.pages) + 1 if known is None else known.page_id
        revision = len(self.changes) + 100
        self.pages[name] = StubPage(
            page_id=page_id, title=name, namespace=namespace, revision=revision, at=at, text=text
        )
        self.changes.append((at, page_id))

    def delete(self, name: str) -> None:
        """Delete a page, which the list of changes does not name."""
        page = self.pages[name]
        self.pages[name] = StubPage(page_id=0, title="", namespace=-1, revision=0, at=page.at, text="")
        self.deletions.append((self.tick(), page.page_id))
        self.changes.append((self.now, 0))

    def path(self, name: str) -> str:
        """Return the path of the page's document."""
        return f"pages/{self.pages[name].page_id}.html"

    def answer(self, method: str, path: str, query: dict[str, str], environ: Mapping[str, Any]) -> Any:
        """Answer as the documentation says; errors have the status 200, too."""
        if path != "/w/api.php" or query.get("format", "json") != "json":
            return "404 Not Found", {}, {}
        cookies = environ.get("HTTP_COOKIE", "")
        if method == "POST":
            return self._log_in(environ, cookies)
        if query.get("meta") == "tokens":
            token = {"query": {"tokens": {"logintoken": "0123+\\"}}, "batchcomplete": True}
            return "200 OK", token, {"Set-Cookie": "wiki_session=a; path=/; HttpOnly"}
        if "wiki_user=Ada" not in cookies or query.get("assert") != "user":
            return "200 OK", {"error": {"code": "readapidenied", "info": "You need read permission."}}, {}
        return "200 OK", self._parse(query) if query["action"] == "parse" else self._query(query), {}

    def _log_in(self, environ: Mapping[str, Any], cookies: str) -> Any:
        content = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])).decode()
        form = {name: values[0] for name, values in parse_qs(content).items()}
        given = (form["lgname"], form["lgpassword"], form["lgtoken"])
        if "wiki_session=a" not in cookies or given != ("Ada@kebab", "s3cret", "0123+\\"):
            return "200 OK", {"login": {"result": "Failed", "reason": "Incorrect password"}}, {}
        return "200 OK", {"login": {"result": "Success"}}, {"Set-Cookie": "wiki_user=Ada; path=/"}

    def _parse(self, query: Mapping[str, str]) -> Any:
        page = self._find(int(query["pageid"]))
        if page is None:
            return {"error": {"code": "nosuchpageid", "info": "There is no page with this ID."}}
        return {"parse": {"title": page.title, "pageid": page.page_id, "text": f"<p>{page.text}</p>"}}

    def _query(self, query: Mapping[str, str]) -> Any:
        if query.get("list") == "recentchanges":
            hidden = {"actionhidden": True}
            changes = [(at, {"pageid": each} if each else hidden) for at, each in self.changes]
            return self._entries(query, "recentchanges", changes, "rc")
        if query.get("list") == "logevents":
            deletions = self.deletions if query["letype"] == "delete" else []
            events = [(at, {"pageid": 0, "logpage": page_id}) for at, page_id in deletions]
            return self._entries(query, "logevents", events, "le")
        if query.get("generator") == "allpages":
            return self._all_pages(query)
        named = [(int(each), self._find(int(each))) for each in query["pageids"].split("|")]
        pages = [
            {"pageid": page_id, "missing": True} if page is None else self._page_json(page)
            for page_id, page in named
        ]
        return {"batchcomplete": True, "query": {"pages": pages}}

    def _entries(self, query: Mapping[str, str], name: str, entries: list[Any], prefix: str) -> Any:
        since = query.get(f"{prefix}start", "")
        most = _MOST if query[f"{prefix}limit"] == "max" else int(query[f"{prefix}limit"])
        start = int(query.get(f"{prefix}continue", 0))
        listed = [(format_time(at), each) for at, each in entries if format_time(at) >= since]
        shown = [{**each, "timestamp": at} for at, each in listed[start : start + most]]
        answer: dict[str, Any] = {"query": {name: shown}, "batchcomplete": True}
        if start + most < len(listed):
            answer["continue"] = {f"{prefix}continue": str(start + most), "continue": "-||"}
        if "curtimestamp" in query:
            answer["curtimestamp"] = format_time(self.now)
        return answer

    def _all_pages(self, query: Mapping[str, str]) -> Any:
        """Return a part of the pages: first without their revisions, which the next part adds."""
        namespace, start = int(query["gapnamespace"]), query.get("gapcontinue", "")
        wanted = (page for page in self.pages.values() if page.namespace == namespace)
        titles = sorted(page.title for page in wanted if page.title >= start and not page.is_redirect)
        pages = [self._page_json(self.pages[title]) for title in titles[:_MOST]]
        if "rvcontinue" not in query:
            bare = [{name: value for name, value in page.items() if name != "revisions"} for page in pages]
            place = {"rvcontinue": "1", "gapcontinue": start, "continue": "||info"}
            return {"query": {"pages": bare}, **({} if self.breaks_off else {"continue": place})}
        answer: dict[str, Any] = {"query": {"pages": pages}, "batchcomplete": True}
        if len(titles) > _MOST:
            answer["continue"] = {"gapcontinue": titles[_MOST], "continue": "gapcontinue||"}
        return answer

    def _find(self, page_id: int) -> StubPage | None:
        return next((page for page in self.pages.values() if page.page_id == page_id), None)

    def _page_json(self, page: StubPage) -> dict[str, Any]:
        revision = {"revid": page.revision, "user": "Ada", "timestamp": format_time(page.at)}
        return {
            "pageid": page.page_id,
            "ns": page.namespace,
            "title": page.title,
            "lastrevid": page.revision,
            "fullurl": f"{self.url}/wiki/{page.page_id}",
            "revisions": [revision],
            **({"redirect": True} if page.is_redirect else {}),
        }


@contextmanager
def wiki_host() -> Iterator[WikiHost]:
    """Run a wiki."""
    host = WikiHost()
    with host.running():
        yield host
