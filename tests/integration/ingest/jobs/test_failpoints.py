"""A job whose worker is killed at any failpoint ends like an undisturbed one."""

import os
import signal
from types import SimpleNamespace

import pytest

from ingest.jobs.queue.report import ingest_report
from ingest.jobs.queue.request import request_sync
from ingest.models import JobItem
from kebab.runtime import failpoints
from search.corpus import ensure_source
from search.models import Change, Document
from tests.integration.ingest.jobs.processes import run_job_in_process
from tests.support.corpus import make_workspace
from tests.support.jobs import Killed, counts, die, expire, fill, identities, now_of, sync, work

FILES = {
    "a.md": "# A\n\nalpha\n\n## B\n\nbeta\n",
    "same.md": "twice\n",
    "same2.md": "twice\n",
    "deep/er.py": "def run():\n    return 1\n",
}

each_failpoint = pytest.mark.parametrize(
    ("failpoint", "attempts", "is_written"),
    [
        ("after_claim", set(), False),
        ("after_parse", {1}, False),
        ("after_chunks_before_commit", {1}, False),
        ("after_commit_before_ack", {1}, True),
    ],
)


@pytest.fixture
def job(folder, source):
    fill(folder, FILES)
    return request_sync(source)


def check_takeover(job, folder, attempts, is_written):
    """Assert that the killed worker left only allowed state, and that the next one finishes the job."""
    workspace = job.workspace
    assert set(JobItem.objects.values_list("attempts", flat=True)) == attempts
    documents = Document.objects.count()  # those that were parsed at about the same time are written together
    assert (documents > 0, Change.objects.count()) == (is_written, documents)
    killed = now_of(job)
    assert (killed.state, killed.attempt, killed.items_done) == ("running", 1, documents)

    expire(job)
    ended = work(job)
    assert (ended.state, ended.items_done, ended.items_total) == ("succeeded", 4, 4)
    assert counts(ingest_report(ended)) == {"seen": 4, "new": 4, "parser_calls": 4}

    twin = make_workspace(corpus_id=workspace.corpus_id)
    sync(ensure_source(twin, job.source.key, kind="folder", config={"path": str(folder)}))
    assert identities(workspace) == identities(twin)
    assert Change.objects.in_workspace(workspace).count() == 4


@each_failpoint
def test_job_of_a_worker_that_died_is_finished_by_the_next(
    folder, job, settings, monkeypatch, failpoint, attempts, is_written
):
    settings.KEBAB_FAILPOINT = failpoint
    with monkeypatch.context() as patched:
        patched.setattr(failpoints, "os", SimpleNamespace(kill=die, getpid=os.getpid))
        with pytest.raises(Killed):
            work(job)
        settings.KEBAB_FAILPOINT = ""
    check_takeover(job, folder, attempts, is_written)


@pytest.mark.slow
@each_failpoint
def test_job_of_a_killed_process_is_finished_by_the_next(folder, job, failpoint, attempts, is_written):
    assert run_job_in_process(job, KEBAB_FAILPOINT=failpoint) == -signal.SIGKILL
    check_takeover(job, folder, attempts, is_written)


@pytest.mark.slow
def test_process_without_a_failpoint_finishes_the_job(workspace, job):
    assert run_job_in_process(job, KEBAB_FAILPOINT="") == 0
    assert now_of(job).state == "succeeded"
    assert len(identities(workspace)) == 4
