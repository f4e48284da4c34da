"""Program of the limited process that owns the reader of a source and talks to its server.

Run as `python -m ingest.connectors.records.child`, by `ingest.connectors.records.limited_reader`. It does not
set up Django: readers import no models.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from pkgutil import resolve_name
from urllib.parse import urlsplit

from ingest.connectors.errors import ConnectorError, ListingFailed, SourceAway
from ingest.connectors.records.requests import ByteBudget, ReaderLimits, ReaderSettings
from ingest.connectors.records.wire import DocumentRecord, RecordReader, encode_error, encode_record
from ingest.errors import AddressNotAllowed
from kebab.sandbox.child import serve
from kebab.sandbox.program import BODY, Header

# Of a path, which a server may make as long as it likes.
_SHOWN_CHARS = 300


class ReaderProcess:
    """The reader of this process, which the first request opens."""

    def __init__(self) -> None:
        self._reader: RecordReader | None = None

    def handle(self, header: Header, content: bytes) -> Iterator[Header]:
        """Yield the frames of an act, the last of which has `end` or `error`; `content` is how to open it."""
        try:
            if self._reader is None:
                opening = json.loads(content)
                given = opening["settings"]
                server = urlsplit(given["config"].get("url", "")).hostname
                limits = ReaderLimits(**given["limits"])
                budget = ByteBudget(server or "The program", most_documents=limits.documents)
                self._settings = ReaderSettings(**{**given, "limits": limits, "budget": budget})
                self._reader = resolve_name(opening["reader"])(self._settings)
            settings, reader = self._settings, self._reader
            yield from _ACTS[header["act"]](reader, settings, header)
        except ConnectorError as error:
            yield encode_error(error)
        except (AddressNotAllowed, OSError) as error:
            is_of_document = header["act"] == "fetch" and isinstance(error, OSError)
            yield encode_error(error if is_of_document else ListingFailed(str(error)))
        else:
            yield {"end": True}


def _list(reader: RecordReader, settings: ReaderSettings, header: Header) -> Iterator[Header]:
    limits = settings.limits
    settings.budget.start(limits.spare_bytes, bytes_per_document=limits.bytes_per_document)
    for record in reader.records(header["cursor"]):
        if isinstance(record, DocumentRecord):
            settings.budget.earn(1)
        yield encode_record(record)


def _probe(reader: RecordReader, settings: ReaderSettings, header: Header) -> Iterator[Header]:
    """Yield the path of the first document, if there is one."""
    settings.budget.start(settings.limits.probe_bytes)
    for record in reader.records(""):
        if isinstance(record, DocumentRecord):
            yield {"path": record.path[:_SHOWN_CHARS]}
            return


def _fetch(reader: RecordReader, settings: ReaderSettings, header: Header) -> Iterator[Header]:
    limit_bytes = header["limit_bytes"]
    settings.budget.start(settings.limits.spare_bytes + 2 * limit_bytes)
    try:
        yield {"content": True, BODY: reader.fetch(header["path"], header["locator"], limit_bytes)}
    except SourceAway:
        raise
    except ListingFailed as error:
        raise OSError(str(error)) from error


_ACTS: Mapping[str, Callable[[RecordReader, ReaderSettings, Header], Iterator[Header]]] = {
    "list": _list,
    "probe": _probe,
    "fetch": _fetch,
}

if __name__ == "__main__":
    serve(ReaderProcess().handle)
