"""The reader of a source in a limited process: its errors, its death, its end."""

from contextlib import closing

import pytest

from ingest.connectors.errors import ListingFailed, SourceAway
from ingest.connectors.records.limited_reader import LIMITS, LimitedReader, Opening
from ingest.connectors.records.wire import CompleteRecord, DocumentRecord
from kebab.sandbox.program import Limits
from tests.support.processes import is_running
from tests.unit.ingest.connectors.records.readers import ERRORS

MEGABYTE = 1024**2


class Cancelled(Exception):
    """The job was cancelled."""


def cancel():
    raise Cancelled


def open_obedient(while_waiting=lambda: None):
    opening = Opening(
        reader="tests.unit.ingest.connectors.records.readers:ObedientReader",
        limits=Limits(extra_data_bytes=100 * MEGABYTE, request_cpu_seconds=0),
        config={"url": "https://example.org/"},
        credentials={"token": "s3cret"},
    )
    return closing(LimitedReader(opening, while_waiting))


@pytest.fixture(scope="module")
def reader():
    with open_obedient() as opened:
        yield opened


def fetch(reader, locator):
    return reader.fetch("a.md", locator, MEGABYTE)


def test_listing_and_fetches_share_a_process(reader):
    document, end = reader.records("")
    assert (document.content, end) == (b"About tides", CompleteRecord())
    assert fetch(reader, "pid") == str(document.metadata["pid"]).encode()


def test_credentials_pass_through_the_pipe_alone(reader):
    assert b"s3cret" in fetch(reader, "credentials")
    assert b"s3cret" not in fetch(reader, "secrets")


@pytest.mark.parametrize("name", ["ListingFailed", "SourceAway", "OSError", "KeyError"])
def test_error_of_a_listing_keeps_what_came_before(reader, name):
    records = reader.records(name)
    assert isinstance(next(records), DocumentRecord)
    with pytest.raises(SourceAway if name == "SourceAway" else ListingFailed, match=r"example\.org"):
        next(records)


@pytest.mark.parametrize("name", ERRORS)
def test_error_while_fetching_a_document_keeps_the_reader_usable(reader, name):
    expected = {"SourceAway": SourceAway, "FileNotFoundError": FileNotFoundError}.get(name, OSError)
    with pytest.raises(expected) as raised:
        fetch(reader, name)
    assert (type(raised.value), "example.org" in str(raised.value)) == (expected, True)
    assert fetch(reader, "") == b""


@pytest.mark.parametrize(("order", "reason"), [("memory", "out of memory"), ("loop", "SIGXCPU")])
def test_document_that_kills_the_sandbox_does_not_stop_the_others(reader, order, reason):
    before = fetch(reader, "pid")
    with pytest.raises(OSError, match=rf"example\.org.*{reason}"):
        fetch(reader, order)
    assert fetch(reader, "pid") != before


def test_consecutive_sandbox_deaths_mark_the_server_unavailable(reader, monkeypatch):
    fetch(reader, "")
    for _ in range(LIMITS.broken_in_a_row - 1):
        reader._died_in_a_row += 1
    with pytest.raises(SourceAway):
        fetch(reader, "memory")
    fetch(reader, "")
    assert reader._died_in_a_row == 0


def test_document_and_listing_have_separate_byte_budgets(reader):
    with pytest.raises(OSError, match=r"example\.org sends more"):
        fetch(reader, "budget")
    with pytest.raises(ListingFailed, match=r"example\.org sends more"):
        list(reader.records("budget"))


@pytest.mark.parametrize(
    "act", [lambda reader: list(reader.records("hang")), lambda reader: fetch(reader, "hang")]
)
def test_wait_is_ended_by_its_caller(act):
    is_waiting = []
    with open_obedient(lambda: cancel() if is_waiting else None) as reader:
        pid = int(fetch(reader, "pid"))
        is_waiting.append(True)
        with pytest.raises(Cancelled):
            act(reader)
        assert not is_running(pid)


def test_probe_lists_the_first_document_alone(reader):
    assert reader.probe() == "a.md"


def test_listing_that_is_left_ends_its_process(reader):
    records = reader.records("hang")
    pid = next(records).metadata["pid"]
    records.close()
    assert not is_running(pid)


def test_process_that_does_not_start_is_not_the_fault_of_the_source(monkeypatch):
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    with open_obedient() as reader, pytest.raises(SourceAway, match="can't be read now"):
        fetch(reader, "")
