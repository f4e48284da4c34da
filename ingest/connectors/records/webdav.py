"""The connector of WebDAV servers (RFC 4918), such as Nextcloud: folders are listed one level at a time."""

import base64
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

from ingest.connectors.errors import ListingFailed
from ingest.connectors.records.requests import Answer, ReaderSettings, ServerRequests, parse_xml
from ingest.connectors.records.wire import CompleteRecord, DocumentRecord, Record, WarningRecord
from search.retrieval.document_date import parse_http_date

_MULTI_STATUS: Final = 207
_FORBIDDEN: Final = 403
_TEXTS: Final = ("getetag", "getcontentlength", "getlastmodified")
_PROPERTIES: Final = (
    b'<?xml version="1.0" encoding="utf-8"?><d:propfind xmlns:d="DAV:"><d:prop>'
    b"<d:resourcetype/><d:getetag/><d:getcontentlength/><d:getlastmodified/>"
    b"</d:prop></d:propfind>"
)


def basic_authorization(username: str = "", password: str = "") -> Mapping[str, str]:
    """Return the header of Basic authentication (RFC 7617); none without a user name."""
    if not username:
        return {}
    return {"Authorization": "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()}


class WebdavReader:
    """A reader of the files below a collection, each by its ETag."""

    def __init__(self, settings: ReaderSettings) -> None:
        self._server = settings.server
        self._requests = ServerRequests(self._server, settings)
        # Unescaped, like all paths here: servers escape differently.
        self._root = unquote(self._server.key).rstrip("/") + "/"
        self._login = basic_authorization(**settings.credentials)

    def records(self, cursor: str) -> Iterator[Record]:
        """Yield all files. Raises ListingFailed, SourceAway."""
        folders, seen, is_whole = deque([self._root]), {self._root}, True
        while folders:
            folder = folders.popleft()
            answer = self._propfind(folder)
            if answer.status == _FORBIDDEN:
                is_whole = False
                yield WarningRecord(message=f"The folder {folder.removeprefix(self._root)} may not be read.")
            if answer.status != _MULTI_STATUS:
                continue
            listed = parse_xml(answer.body, self._server.host, "multistatus").findall("{DAV:}response")
            paths = [_path_of(entry.findtext("{DAV:}href") or "") for entry in listed]
            # The folder itself is in its listing.
            if not any(f"{path}/".startswith(folder) for path in paths):
                asked = folder.removeprefix(self._root) or "the address"
                raise ListingFailed(
                    f"{self._server.host} answers with a listing of another folder in place of {asked}; check"
                    " the address."
                )
            for path, entry in zip(paths, listed, strict=True):
                if not path.startswith(self._root) or path == folder:
                    continue
                if entry.find(".//{DAV:}collection") is None:
                    yield self._document(path, entry)
                elif (below := path.rstrip("/") + "/") not in seen:
                    seen.add(below)
                    folders.append(below)
        if is_whole:
            yield CompleteRecord()

    def fetch(self, path: str, locator: str, limit_bytes: int) -> bytes:
        """Return a file's bytes. Raises FileNotFoundError, OSError, SourceAway."""
        return self._requests.fetch(quote(locator), limit_bytes=limit_bytes, headers=lambda: self._login)

    def close(self) -> None:
        """Close the connections."""
        self._requests.close()

    def _propfind(self, folder: str) -> Answer:
        """Request what lies directly in a folder.

        Raises ListingFailed, but not for a subfolder that is locked or gone.
        """
        headers = {**self._login, "Depth": "1", "Content-Type": "application/xml"}
        answer = self._requests.request(
            "PROPFIND", quote(folder), headers=lambda: headers, content=_PROPERTIES
        )
        is_passed_over = folder != self._root and answer.status in (_FORBIDDEN, 404)
        if answer.status != _MULTI_STATUS and not is_passed_over:
            self._requests.fail_listing(answer)
        return answer

    def _document(self, path: str, entry: Any) -> DocumentRecord:
        found = {name: entry.findtext(f".//{{DAV:}}{name}") or "" for name in _TEXTS}
        size, modified = found["getcontentlength"], found["getlastmodified"]
        return DocumentRecord(
            path=path.removeprefix(self._root),
            # Servers without ETags have times.
            version=found["getetag"] or (f"{modified} {size}" if modified else ""),
            locator=path,
            size_bytes=int(size) if size.isdecimal() else None,
            dated=parse_http_date(modified),
        )


def _path_of(href: str) -> str:
    """Return the unescaped path of a resource; "" for an invalid address."""
    try:
        return unquote(urlsplit(href).path)
    except ValueError:
        return ""
