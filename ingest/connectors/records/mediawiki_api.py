"""Queries to MediaWiki's Action API, in a session of a bot password if there is one."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ingest.connectors.errors import ListingFailed, SourceAway
from ingest.connectors.records.json_server import JsonServer
from ingest.connectors.records.settings import ReaderSettings

_FORMAT: Final = {"format": "json", "formatversion": "2"}
_REFUSALS: Final = frozenset({"readapidenied", "permissiondenied"})
_AWAY: Final = frozenset({"ratelimited", "readonly", "maxlag", "assertuserfailed"})
_MISSING: Final = frozenset({"nosuchpageid", "missingtitle"})


class WikiApi:
    """The API of one wiki."""

    def __init__(self, settings: ReaderSettings) -> None:
        self.server = JsonServer(settings.server, settings, self._headers)
        self._credentials = settings.credentials
        self._cookies: dict[str, str] = {}

    def parse_page(self, page_id: str, options: Mapping[str, str], limit_bytes: int) -> Mapping[str, Any]:
        """Return a rendered page. Raises FileNotFoundError, OSError, SourceAway."""
        try:
            self.log_in()
        except ListingFailed as error:
            raise SourceAway(str(error)) from error
        query = {"action": "parse", "pageid": page_id, **options, **self._common}
        found, _ = self.server.fetch("", query, limit_bytes=limit_bytes)
        with self.server.expected_form(OSError):
            if failure := found.get("error"):
                raise self._fetch_error(page_id, failure)
            return dict(found["parse"])

    def query(self, query: Mapping[str, str]) -> Mapping[str, Any]:
        """Return the answer to a query. Raises ListingFailed, SourceAway."""
        found, _ = self.server.get("", {"action": "query", **query, **self._common})
        with self.server.expected_form():
            if error := found.get("error"):
                raise self._error(error)
            return dict(found)

    def pages(self, query: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
        """Yield the pages of a query; the wiki may return what it knows of one in parts.

        Raises ListingFailed, SourceAway.
        """
        batch: dict[int, dict[str, Any]] = {}
        is_whole = False
        for found in self._parts(query):
            with self.server.expected_form():
                for page in found.get("query", {}).get("pages", ()):
                    batch.setdefault(page["pageid"], {}).update(page)
            if is_whole := bool(found.get("batchcomplete")):
                yield from batch.values()
                batch = {}
        if not is_whole:
            raise ListingFailed(f"{self.server.host} broke off its list of pages.")

    def entries(self, query: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
        """Yield the entries of a list. Raises ListingFailed, SourceAway."""
        for found in self._parts(query):
            with self.server.expected_form():
                listed = found["query"][query["list"]]
            yield from listed

    def _parts(self, query: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
        """Yield the answers to a query, the last of which names no continuation."""
        continuation: Mapping[str, str] | None = {}
        while continuation is not None:
            found = self.query({**query, **continuation})
            yield found
            if found.get("continue") == continuation:
                raise ListingFailed(f"{self.server.host} repeats a part of its list of pages.")
            continuation = found.get("continue")

    def log_in(self) -> None:
        """Log in with the bot password, if there is one and no session. Raises ListingFailed, SourceAway."""
        if not self._credentials or self._cookies:
            return
        token_query = {"action": "query", "meta": "tokens", "type": "login", **_FORMAT}
        found, answer = self.server.get("", token_query)
        self._cookies.update(answer.cookies)
        with self.server.expected_form():
            token = found["query"]["tokens"]["logintoken"]
        login = {"lgname": self._credentials["username"], "lgpassword": self._credentials["password"]}
        found, answer = self.server.post("", {"action": "login", "lgtoken": token, **login, **_FORMAT})
        with self.server.expected_form():
            result = found["login"]["result"]
        if result != "Success":
            self._cookies.clear()
            raise ListingFailed(f"{self.server.host} refuses the credentials ({result[:50]}); check them.")
        self._cookies.update(answer.cookies)

    @property
    def _common(self) -> Mapping[str, str]:
        # A session that has ended must not pass for a wiki with fewer pages.
        return {**_FORMAT, **({"assert": "user"} if self._credentials else {})}

    def _headers(self) -> Mapping[str, str]:
        cookies = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        return {"Cookie": cookies} if cookies else {}

    def _error(self, error: Mapping[str, Any]) -> ListingFailed:
        host, code = self.server.host, error["code"]
        if code in _REFUSALS:
            return ListingFailed(f"{host} refuses the credentials ({code}); check what they may read.")
        kind = SourceAway if code in _AWAY else ListingFailed
        return kind(f"{host} answers: {str(error.get('info', code))[:200]}")

    def _fetch_error(self, path: str, error: Mapping[str, Any]) -> Exception:
        if error["code"] in _MISSING:
            return FileNotFoundError(path)
        if error["code"] in _AWAY | _REFUSALS:
            return SourceAway(str(self._error(error)))
        return OSError(f"{self.server.host} answers: {str(error.get('info', ''))[:200]}")
