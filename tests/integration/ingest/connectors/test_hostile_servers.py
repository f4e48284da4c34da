"""Every kind of source against every hostile server: it ends in time, names the host, can be cancelled."""

import resource
import time
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial

import psutil
import pytest
from cryptography.fernet import Fernet

from ingest.connectors.errors import ListingFailed
from ingest.connectors.kinds import connect, kind_of
from ingest.connectors.records import limited_reader
from ingest.connectors.records.kinds import RECORD_KINDS
from ingest.connectors.records.source import RecordSource
from ingest.connectors.types import OpenOptions
from ingest.connectors.walk_rules import WalkRules
from ingest.errors import ConnectionFailed
from ingest.services import connection_probe
from ingest.services.source_definition import check_config
from search.models import Source, SourceVersion
from tests.integration.ingest.connectors.hostile_targets import hostile_target, hostilities
from tests.support.processes import is_running, wait_until

pytestmark = pytest.mark.slow

#: "robots" is a web site whose robots.txt is hostile.
KINDS = [*RECORD_KINDS, "web", "robots", "git"]
PAIRS = [(kind, hostility) for kind in KINDS for hostility in hostilities(kind)]
#: of an act with the limits of `small_limits`, and of its end after a cancellation
BOUND_S = 15.0
CANCEL_BOUND_S = 5.0
#: by which all of these tests together may make this process grow
MEMORY_KB = 100_000
REFUSALS = (ConnectionFailed, ListingFailed, OSError)


@pytest.fixture(autouse=True)
def reachable_servers(settings):
    settings.KEBAB_PRIVATE_HOSTS = frozenset({"127.0.0.1"})
    settings.KEBAB_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    settings.KEBAB_CRAWL_REQUESTS_PER_S = 1_000


@pytest.fixture
def small_limits(settings, monkeypatch):
    settings.KEBAB_CRAWL_LIMIT_S = 0.5
    settings.KEBAB_GIT_LIMIT_S = 2
    monkeypatch.setattr(connection_probe, "_LIMIT_S", 5.0)
    limits = {"pauses_s": (), "silence_s": 0.5, "documents": 200, "answer_bytes": 16 * 1024**2}
    limits |= {"spare_bytes": 20 * 1024**2, "probe_bytes": 20 * 1024**2, "bytes_per_request": 200_000}
    monkeypatch.setattr(limited_reader, "LIMITS", replace(limited_reader.LIMITS, **limits))


@pytest.fixture
def patience(settings, monkeypatch):
    """Allow so much that only a cancellation ends an act soon."""
    settings.KEBAB_CRAWL_LIMIT_S = 60
    monkeypatch.setattr(limited_reader, "LIMITS", replace(limited_reader.LIMITS, pauses_s=(60.0,)))


@pytest.fixture
def make_source(workspace):
    def make(kind, config):
        kind = "web" if kind == "robots" else kind
        fields = check_config(kind, config, lambda folder: True)
        return Source.objects.create(workspace=workspace, key="hostile", title="Tides", kind=kind, **fields)

    return make


def probe(source, while_waiting):
    kind_of(source.kind).probe(source, while_waiting)


def list_all(source, while_waiting):
    version = SourceVersion(workspace=source.workspace, source=source)
    with connect(OpenOptions(source=source, version=version, while_waiting=while_waiting)) as connector:
        if isinstance(connector, RecordSource):
            list(connector.entries())
        else:
            list(connector.entries(WalkRules.from_settings()))


def fetch(source, while_waiting):
    """Fetch a document without a listing before; git reads its copy."""
    if source.kind not in RECORD_KINDS:
        return
    locator = '["INBOX", 1]' if source.kind == "imap" else "1"
    with closing(RECORD_KINDS[source.kind].open_reader(source, while_waiting)) as reader:
        reader.fetch("tides.md", locator, 1_000_000)


ACTS = [probe, list_all, fetch]


@contextmanager
def no_process_stays():
    before = set(psutil.Process().children(recursive=True))
    yield
    left = set(psutil.Process().children(recursive=True)) - before
    wait_until(lambda: not any(is_running(each.pid) for each in left))


@pytest.mark.parametrize(("kind", "hostility"), PAIRS)
def test_hostile_server_fails_the_sync_within_its_limits(
    kind, hostility, small_limits, make_source, tmp_path
):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with hostile_target(kind, hostility, tmp_path) as target, no_process_stays():
        source = make_source(kind, target.config)
        for act in ACTS:
            started_at = time.monotonic()
            with suppress(FileNotFoundError):
                try:
                    act(source, connection_probe._deadline() if act is probe else lambda: None)
                except REFUSALS as refusal:
                    assert names_its_server(refusal), refusal
            assert time.monotonic() - started_at < BOUND_S, act
        assert target.server is None or "/private" not in target.server.requested
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEMORY_KB


def names_its_server(refusal):
    words = ("127.0.0.1", "The program", "No answer within", "Line ", "repository", "git ended")
    return isinstance(refusal, FileNotFoundError) or any(word in str(refusal) for word in words)


class Cancelled(Exception):
    """The job was cancelled."""


@pytest.mark.parametrize(("kind", "hostility"), PAIRS)
def test_sync_and_probe_are_cancelled_in_time_with_any_hostile_server(
    kind, hostility, patience, make_source, tmp_path
):
    with hostile_target(kind, hostility, tmp_path) as target, no_process_stays():
        source = make_source(kind, target.config)
        for act in ACTS:
            times = []
            with suppress(Cancelled, *REFUSALS):
                act(source, partial(cancel, target, times))
            assert not times or time.monotonic() - times[0] < CANCEL_BOUND_S, act


def cancel(target, times):
    if target.is_reached:
        times.append(time.monotonic())
        raise Cancelled
