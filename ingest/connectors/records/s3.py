"""The connector of S3-compatible buckets.

Requests are signed here (AWS Signature Version 4, "Authenticating Requests: Using the Authorization Header"
of the S3 API reference), because libraries for S3 open connections of their own, past the check of addresses.
"""

import hashlib
import hmac
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote, unquote_plus, urlencode

from ingest.connectors.errors import ContentArchived, ListingFailed
from ingest.connectors.records.requests import (
    Answer,
    DocumentRefused,
    ReaderSettings,
    ServerRequests,
    parse_xml,
)
from ingest.connectors.records.wire import CompleteRecord, DocumentRecord, Record

_EMPTY: Final = hashlib.sha256(b"").hexdigest()
#: storage classes of objects that can't be read until they are restored
_ARCHIVES: Final = frozenset({"GLACIER", "DEEP_ARCHIVE"})
_ALGORITHM: Final = "AWS4-HMAC-SHA256"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """The signer of requests without a body, for one region; without a key it signs none."""

    host: str
    region: str
    access_key_id: str = ""
    secret_access_key: str = field(default="", repr=False)

    def headers(self, path: str, query: str, at: datetime) -> Mapping[str, str]:
        """Return the headers of a GET of an escaped path and a sorted query.

        Those that authenticate it, and of a listing one that asks for what has been restored from an archive.
        """
        own = {"x-amz-optional-object-attributes": "RestoreStatus"} if query else {}
        if not self.access_key_id:
            return own
        time, scope = f"{at:%Y%m%dT%H%M%SZ}", f"{at:%Y%m%d}/{self.region}/s3/aws4_request"
        signed = {"host": self.host, "x-amz-content-sha256": _EMPTY, "x-amz-date": time, **own}
        names = ";".join(signed)
        lines = "".join(f"{name}:{value}\n" for name, value in signed.items())
        request = "\n".join(("GET", path, query, lines, names, _EMPTY))
        to_sign = "\n".join((_ALGORITHM, time, scope, hashlib.sha256(request.encode()).hexdigest()))
        key = f"AWS4{self.secret_access_key}".encode()
        for part in (*scope.split("/"), to_sign):
            key = hmac.digest(key, part.encode(), "sha256")
        credential = f"{self.access_key_id}/{scope}"
        authorization = f"{_ALGORITHM} Credential={credential}, SignedHeaders={names}, Signature={key.hex()}"
        return {name: signed[name] for name in list(signed)[1:]} | {"Authorization": authorization}


class BucketReader:
    """A reader of the objects of a bucket below a prefix, each by its ETag."""

    def __init__(self, settings: ReaderSettings) -> None:
        server, config = settings.server, settings.config
        self._requests = ServerRequests(server, settings)
        self._server = server
        self._bucket = f"{server.key.rstrip('/')}/{quote(config['bucket'])}"
        self._prefix = config.get("prefix", "").strip("/")
        self._prefix += "/" if self._prefix else ""
        self._signer = Signer(
            host=server.url.removeprefix(f"{server.scheme}://").partition("/")[0],
            region=config.get("region", "us-east-1"),
            **settings.credentials,
        )

    def records(self, cursor: str) -> Iterator[Record]:
        """Yield all objects. Raises ListingFailed, SourceAway."""
        token = ""
        while True:
            page = self._list_page(token)
            is_escaped = _text(page, "EncodingType") == "url"
            for entry in page.iterfind("{*}Contents"):
                key = _text(entry, "Key")
                key = unquote_plus(key) if is_escaped else key  # some servers write a space as "+"
                if not key.endswith("/"):
                    yield self._document(key, entry)
            before, token = token, _text(page, "NextContinuationToken")
            is_truncated = _text(page, "IsTruncated")
            if is_truncated == "false" or not (is_truncated or token):
                break
            if token in ("", before):
                raise ListingFailed(
                    f"{self._server.host} does not say how the listing of the bucket goes on."
                )
        yield CompleteRecord()

    def fetch(self, path: str, locator: str, limit_bytes: int) -> bytes:
        """Return an object's bytes. Raises FileNotFoundError, OSError, SourceAway."""
        key = f"{self._bucket}/{quote(locator, safe='/-_.~')}"
        try:
            return self._requests.fetch(key, limit_bytes=limit_bytes, headers=lambda: self._sign(key))
        except DocumentRefused as error:
            if self._error_code(error.answer) != "InvalidObjectState":
                raise
            raise ContentArchived("Its storage class is an archive: restore it, and sync again.") from error

    def close(self) -> None:
        """Close the connections."""
        self._requests.close()

    def _document(self, key: str, entry: Any) -> DocumentRecord:
        size = _text(entry, "Size")
        return DocumentRecord(
            path=key.removeprefix(self._prefix),
            version=_text(entry, "ETag"),
            locator=key,
            size_bytes=int(size) if size.isdecimal() else None,
            dated=_parse_time(_text(entry, "LastModified")),
            is_archived=_text(entry, "StorageClass") in _ARCHIVES
            and not _text(entry, "RestoreStatus/{*}RestoreExpiryDate"),
        )

    def _list_page(self, token: str) -> Any:
        parameters = {"encoding-type": "url", "list-type": "2", "prefix": self._prefix}
        if token:
            parameters["continuation-token"] = token
        query = urlencode(sorted(parameters.items()), quote_via=quote, safe="-_.~")
        answer = self._requests.request(
            "GET", f"{self._bucket}?{query}", headers=lambda: self._sign(self._bucket, query)
        )
        if answer.status != 200:
            self._requests.fail_listing(answer, self._error_code(answer))
        return parse_xml(answer.body, self._server.host, "ListBucketResult")

    def _sign(self, path: str, query: str = "") -> Mapping[str, str]:
        return self._signer.headers(path, query, datetime.now(UTC))

    def _error_code(self, answer: Answer) -> str:
        try:
            return _text(parse_xml(answer.body, self._server.host, "Error"), "Code")[:100]
        except ListingFailed:
            return ""


def _text(element: Any, name: str) -> str:
    return element.findtext(f"{{*}}{name}") or ""


def _parse_time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
