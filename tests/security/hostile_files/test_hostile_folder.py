"""A folder full of hostile files, synced by the process of a worker: outcome and memory of each."""

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
from kebab.people.models import Workspace
from search.corpus import ensure_source
from search.models import Chunk
from search.retrieval.citation import parse_uri
from tests.security.hostile_files.corpus import BAD, GOOD, N_EMPTY_FILES, ODD, READ, fill
from tests.support.api import committed_workspace
from tests.support.schemas import validate
from tests.support.search import ask

pytestmark = pytest.mark.slow
#: of a worker's process, and of each of its parsers
MAX_BYTES = 700_000_000
OUTCOMES = {**{path: reason for path, (_, reason) in BAD.items()}, **ODD, **dict.fromkeys(GOOD, READ)}


def work(job: Job) -> dict[str, int]:
    """Run a job in the process of a worker, and return the most memory that it and its parsers took."""
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
    spent: dict[str, int] = json.loads(done.stdout)
    return spent


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """A workspace with the folder after two syncs."""

    workspace: Workspace
    mirrors: Path
    first: Job
    again: Job
    #: most bytes in memory at once in the first sync, by process
    spent: Mapping[str, int]


@pytest.fixture(scope="module")
def synced(django_db_setup, django_db_blocker, tmp_path_factory):
    """Sync the folder twice."""
    root, mirrors = tmp_path_factory.mktemp("hostile"), tmp_path_factory.mktemp("mirrors")
    noted = {}

    def read(workspace):
        fill(root)
        source = ensure_source(workspace, "hostile", kind="folder", config={"path": str(root)})
        for name in ("first", "again"):
            noted[name] = request_sync(source)
            noted["spent"] = {**work(noted[name]), **noted.get("spent", {})}
            noted[name].refresh_from_db()

    with committed_workspace(django_db_blocker, mirrors, read) as workspace:
        yield Synced(workspace=workspace, mirrors=mirrors, **noted)


@pytest.fixture
def workspace(db, synced, settings):
    settings.KEBAB_MIRROR_DIR = synced.mirrors
    synced.workspace.refresh_from_db()
    return synced.workspace


@pytest.fixture
def job(db, synced):
    return synced.first


def test_job_accounts_for_every_file_with_its_own_reason(job):
    report = ingest_report(job)
    validate("ingest_report.v1", report)
    assert (job.state, job.error) == ("succeeded", "")
    assert report["seen"] == len(OUTCOMES) + N_EMPTY_FILES
    assert report["seen"] == report["new"] + report["skipped"] + report["failed"]

    expected = Counter(reason for reason in OUTCOMES.values() if reason != READ)
    expected["empty"] += N_EMPTY_FILES
    assert {**report["skipped_by_reason"], **report["failed_by_reason"]} == expected
    assert report["explanations"].keys() == expected.keys()
    ended = dict(JobItem.objects.filter(job=job).values_list("path", "reason"))
    listed = {path: reason for reason, paths in report["examples"].items() for path in paths}
    shown = {printable_path(path, is_directory=False): reason for path, reason in OUTCOMES.items()}
    found = {path[:1_000]: reason for path, reason in {**listed, **ended}.items() if path[:6] != "empty/"}
    wanted = {path[:1_000]: reason for path, reason in shown.items() if reason != "empty"}
    assert wanted.items() <= found.items()

    details = dict(JobItem.objects.filter(job=job, reason="quarantined").values_list("path", "detail"))
    for spell, death in (("hang", "2 s"), ("devour", "memory"), ("crash", "SIGSEGV")):
        assert death in details[f"spells/{spell}.md"].partition("attempt 2: ")[2]


def test_memory_stays_bounded(synced):
    assert max(synced.spent.values()) < MAX_BYTES


def test_good_files_are_found_and_nothing_outside_the_folder_is_read(workspace, subtests):
    for path, (content, words, place) in GOOD.items():
        with subtests.test(case=path):
            hit = next(hit for hit in ask(workspace, words).hits if hit.doc_path == path)
            assert place in hit.citation.uri
            if place.startswith("#L") and not path.endswith(".docx"):
                span = parse_uri(hit.citation.uri)
                lines = content.decode().split("\n")[span.start - 1 : span.end]
                assert words in "\n".join(lines)
    chunks = Chunk.objects.in_workspace(workspace)
    assert not chunks.filter(text__startswith="root:").exists()
    assert not chunks.filter(text__contains="aaaaaaaaaaaaaaaaaaaa").exists()


def test_second_sync_parses_nothing(db, synced):
    first, again = ingest_report(synced.first), ingest_report(synced.again)
    retry_on_lock_timeout = sum(reason == "unreadable" for reason in OUTCOMES.values())
    assert (synced.again.state, again["parser_calls"]) == ("succeeded", 0)
    assert synced.again.items_total == retry_on_lock_timeout
    assert (again["unchanged"], again["new"]) == (first["new"], 0)
    for name in ("seen", "skipped_by_reason", "failed_by_reason"):
        assert again[name] == first[name]
