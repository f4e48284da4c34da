"""Records and errors that pass through a pipe."""

from datetime import UTC, datetime

import pytest

from ingest.connectors.errors import ContentArchived, ListingFailed, SourceAway
from ingest.connectors.records.wire import (
    CompleteRecord,
    CursorRecord,
    DeletedRecord,
    DocumentRecord,
    WarningRecord,
    decode_error,
    decode_record,
    encode_error,
    encode_record,
)
from kebab.sandbox.program import encode_reply, take_frames

RECORDS = [
    DocumentRecord(path="a.md"),
    DocumentRecord(path="a.md", content=b""),
    DocumentRecord(
        path="ä.md",
        version="1",
        content=b"\xff\0",
        locator="[1]",
        size_bytes=7,
        media_type="text/plain",
        title="Tides",
        author="Ada",
        dated=datetime(2024, 5, 6, tzinfo=UTC),
        metadata={"labels": ["sea"]},
        groups=["staff"],
        is_archived=True,
    ),
    DeletedRecord(path="a.md"),
    CursorRecord(state="7"),
    CompleteRecord(),
    WarningRecord(message="One page is locked."),
]


@pytest.mark.parametrize("record", RECORDS)
def test_record_passes_unchanged(record):
    [frame] = take_frames(bytearray(b"".join(encode_reply(encode_record(record)))))
    assert decode_record(frame) == record


@pytest.mark.parametrize("kind", [SourceAway, ListingFailed, FileNotFoundError, ContentArchived, OSError])
def test_error_keeps_its_kind_and_message(kind):
    error = decode_error(encode_error(kind("example.org is away.")))
    assert (type(error), str(error)) == (kind, "example.org is away.")


@pytest.mark.parametrize(
    "frame",
    [
        {},
        {"record": "os"},
        {"record": "DocumentRecord", "values": {}},
        {"record": "DeletedRecord", "values": 1},
    ],
)
def test_malformed_record_frame_is_refused(frame):
    with pytest.raises((LookupError, TypeError, ValueError)):
        decode_record(frame)
