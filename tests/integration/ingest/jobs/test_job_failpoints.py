"""A worker killed at any point: whoever takes over ends where an undisturbed run ends."""

import os
import signal
import subprocess
import sys

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.db.models.functions import Now

from ingest.jobs.report import ingest_report
from ingest.jobs.request import request_sync
from ingest.models import Job, JobItem
from search.corpus import ensure_source
from search.models import Change, Document
from tests.support.corpus import make_workspace
from tests.support.jobs import counts, fill, identities, sync, work

FILES = {
    "a.md": "# A\n\nalpha\n\n## B\n\nbeta\n",
    "same.md": "twice\n",
    "same2.md": "twice\n",
    "deep/er.py": "def run():\n    return 1\n",
}
WORKER = """
import sys, django
django.setup()
from django.db import connection
connection.settings_dict["NAME"] = sys.argv[1]
from ingest.tasks import run_job_task
run_job_task(sys.argv[2], sys.argv[3])
"""


def work_in_another_process(job, *, failpoint):
    """Work the job off in a process that kills itself at `failpoint`; give its exit status."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "kebab.settings", "KEBAB_FAILPOINT": failpoint}
    database = connection.settings_dict["NAME"]
    arguments = [sys.executable, "-c", WORKER, database, str(job.workspace_id), str(job.pk)]
    return subprocess.run(
        arguments, env=environment, cwd=django_settings.BASE_DIR, timeout=60, check=False
    ).returncode


def take_over(job):
    """Work the job off here once the lease of the one that died is over."""
    Job.objects.filter(pk=job.pk).update(lease_until=job.created_at, due_at=Now())
    return work(job)


@pytest.fixture
def job(folder, source):
    fill(folder, FILES)
    return request_sync(source)


@pytest.mark.parametrize(
    ("failpoint", "attempts", "is_written"),
    [
        ("after_claim", set(), False),
        ("after_parse", {1}, False),
        ("after_chunks_before_commit", {1}, False),
        ("after_commit_before_ack", {1}, True),
    ],
)
def test_a_kill_costs_nothing_but_time(workspace, folder, job, failpoint, attempts, is_written):
    assert work_in_another_process(job, failpoint=failpoint) == -signal.SIGKILL
    assert set(JobItem.objects.values_list("attempts", flat=True)) == attempts
    documents = Document.objects.count()  # those that were parsed at about the same time are written together
    assert (documents > 0, Change.objects.count()) == (is_written, documents)
    killed = Job.objects.get(pk=job.pk)
    assert (killed.state, killed.attempt, killed.items_done) == ("running", 1, documents)

    ended = take_over(job)
    assert (ended.state, ended.items_done, ended.items_total) == ("succeeded", 4, 4)
    assert counts(ingest_report(ended)) == {"seen": 4, "new": 4, "parser_calls": 4}

    twin = make_workspace(corpus_id=workspace.corpus_id)
    sync(ensure_source(twin, job.source.key, kind="folder", config={"path": str(folder)}))
    assert identities(workspace) == identities(twin)
    assert Change.objects.in_workspace(workspace).count() == 4


def test_without_a_failpoint_the_process_works_the_job_off(workspace, job):
    assert work_in_another_process(job, failpoint="") == 0
    assert Job.objects.get(pk=job.pk).state == "succeeded"
    assert len(identities(workspace)) == 5
