"""A folder of hostile files, synced in a worker's process: outcome and memory of each file."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.db import connection

from ingest.connectors.tree import printable_path
from ingest.jobs.queue.report import ingest_report
from ingest.jobs.queue.request import request_sync
from ingest.models import Job, JobItem
from kebab.identity.models import Workspace
from search.corpus import ensure_source
from search.models import Chunk
from search.retrieval.citation import parse_uri
from tests.security.hostile_files.corpus import BAD, GOOD, N_EMPTY_FILES, ODD, READ, fill
from tests.support.api import committed_workspace
from tests.support.schemas import validate
from tests.support.search import ask

pytestmark = pytest.mark.slow
#: Limit of a worker's process, and of each of its parsers.
MAX_BYTES = 700_000_000
OUTCOMES = {**{path: reason for path, (_, reason) in BAD.items()}, **ODD, **dict.fromkeys(GOOD, READ)}


def work(job: Job) -> dict[str, int]:
    """Run a job in a worker's process, and return the peak memory of it and its parsers."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "kebab.settings"}
    module = "tests.security.hostile_files.worker"
    names = (connection.settings_dict["NAME"], str(job.workspace_id), str(job.pk))
    done = subprocess.run(
        [sys.executable, "-m", module, *names],
        env=environment,
        cwd=django_settings.BASE_DIR,
        timeout=240,
        check=True,
        stdout=subprocess.PIPE,
    )
    peak_bytes: dict[str, int] = json.loads(done.stdout)
    return peak_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncedFolder:
    """A workspace with the folder after two syncs."""

    workspace: Workspace
    mirrors: Path
    first: Job
    again: Job
    #: Peak memory in the first sync, by process.
    peak_bytes: Mapping[str, int]


@pytest.fixture(scope="module")
def synced_folder(django_db_setup, django_db_blocker, tmp_path_factory):
    """Sync the folder twice."""
    root, mirrors = tmp_path_factory.mktemp("hostile"), tmp_path_factory.mktemp("mirrors")
    results = {}

    def sync_twice(workspace):
        fill(root)
        source = ensure_source(workspace, "hostile", kind="folder", config={"path": str(root)})
        for name in ("first", "again"):
            results[name] = request_sync(source)
            results["peak_bytes"] = {**work(results[name]), **results.get("peak_bytes", {})}
            results[name].refresh_from_db()

    with committed_workspace(django_db_blocker, mirrors, sync_twice) as workspace:
        yield SyncedFolder(workspace=workspace, mirrors=mirrors, **results)


@pytest.fixture
def workspace(db, synced_folder, settings):
    settings.KEBAB_MIRROR_DIR = synced_folder.mirrors
    synced_folder.workspace.refresh_from_db()
    return synced_folder.workspace


@pytest.fixture
def job(db, synced_folder):
    return synced_folder.first


def test_job_accounts_for_every_file_with_its_own_reason(job):
    report = ingest_report(job)
    validate("ingest_report.v1", report)
    assert (job.state, job.error) == ("succeeded", "")
    assert report["seen"] == len(OUTCOMES) + N_EMPTY_FILES
    assert report["seen"] == report["new"] + report["skipped"] + report["failed"]

    expected = Counter(reason for reason in OUTCOMES.values() if reason != READ)
    expected["empty"] += N_EMPTY_FILES
    assert {**report["skipped_by_reason"], **report["failed_by_reason"]} == expected
    assert report["explanations"].keys() == expected.keys() | report["omissions"].keys()
    ended = dict(JobItem.objects.filter(job=job).values_list("path", "reason"))
    listed = {path: reason for reason, paths in report["examples"].items() for path in paths}
    outcomes = {printable_path(path, is_directory=False): reason for path, reason in OUTCOMES.items()}
    found = {path[:1_000]: reason for path, reason in {**listed, **ended}.items() if path[:6] != "empty/"}
    expected_reasons = {path[:1_000]: reason for path, reason in outcomes.items() if reason != "empty"}
    assert expected_reasons.items() <= found.items()

    details = dict(JobItem.objects.filter(job=job, reason="quarantined").values_list("path", "detail"))
    for spell, death in (("hang", "2 s"), ("devour", "memory"), ("crash", "SIGSEGV")):
        assert death in details[f"spells/{spell}.md"].partition("attempt 2: ")[2]


def test_memory_stays_bounded(synced_folder):
    assert max(synced_folder.peak_bytes.values()) < MAX_BYTES


def test_good_files_are_found_and_nothing_outside_the_folder_is_read(workspace, subtests):
    for path, (content, words, place) in GOOD.items():
        with subtests.test(case=path):
            # Another file may have the same text.
            hits = ask(workspace, words).hits
            hit = next(hit for hit in hits if path in (hit.doc_path, *hit.also_in))
            assert place in hit.citation.uri
            if place.startswith("#L") and not path.endswith(".docx"):
                span = parse_uri(hit.citation.uri)
                lines = content.decode().split("\n")[span.start - 1 : span.end]
                assert words in "\n".join(lines)
    chunks = Chunk.objects.in_workspace(workspace)
    assert not chunks.filter(text__startswith="root:").exists()
    assert not chunks.filter(text__contains="aaaaaaaaaaaaaaaaaaaa").exists()


def test_second_sync_parses_nothing(db, synced_folder):
    first, again = ingest_report(synced_folder.first), ingest_report(synced_folder.again)
    retry_on_lock_timeout = sum(reason == "unreadable" for reason in OUTCOMES.values())
    assert (synced_folder.again.state, again["parser_calls"]) == ("succeeded", 0)
    assert synced_folder.again.items_total == retry_on_lock_timeout
    assert (again["unchanged"], again["new"]) == (first["new"], 0)
    for name in ("seen", "skipped_by_reason", "failed_by_reason"):
        assert again[name] == first[name]
