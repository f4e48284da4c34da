"""Long jobs yield and take turns with all others, across workspaces."""

import json
from base64 import b64decode
from collections import Counter
from datetime import timedelta
from itertools import islice
from uuid import UUID

import pytest
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from ingest.errors import JobYielded
from ingest.jobs.kinds import sync_source
from ingest.jobs.queue import hints, run
from ingest.jobs.queue.hints import hint_due_jobs, hint_on_commit
from ingest.jobs.queue.run import run_job
from ingest.models import Job
from search.corpus import ensure_source
from tests.support.corpus import make_workspace

SLOTS = 2
AN_HOUR_AGO = Now() - timedelta(hours=1)


@pytest.fixture(autouse=True)
def slots(settings):
    settings.KEBAB_WORKER_SLOTS = SLOTS


@pytest.fixture
def turns(monkeypatch):
    """Count the turns of each job: syncs never finish, uploads finish in their first turn."""
    had = Counter()

    def yield_(work):
        had[work.job.pk] += 1
        work.lease.write(stalled_attempts=0)
        raise JobYielded("others wait")

    def end(work):
        had[work.job.pk] += 1
        return sync_source.Ending.CANCELLED

    monkeypatch.setattr(run, "_RUNNERS", {"sync_source": yield_, "ingest_document": end})
    monkeypatch.setattr(run.hints, "request_mirror_sync", lambda workspace_id: None)
    return had


def endless(workspace):
    source = ensure_source(workspace, f"notes-{Job.objects.count()}", kind="folder", config={"path": "/"})
    return Job.objects.create(workspace=workspace, kind="sync_source", source=source, due_at=AN_HOUR_AGO)


def uploads(workspace, count):
    jobs = [Job(workspace=workspace, kind="ingest_document", due_at=AN_HOUR_AGO) for _ in range(count)]
    return Job.objects.bulk_create(jobs)


def take_hints(meanwhile=lambda: None):
    """Let one worker per slot take a hint and run its job; ten seconds pass."""
    taken = list(islice(take_due_hints(), SLOTS))
    Job.objects.update(hinted_at=F("hinted_at") - timedelta(seconds=10))
    meanwhile()
    for ids in taken:
        run_job(*ids)
    if not taken:
        hint_due_jobs()


def take_due_hints():
    """Pop hints off the queue and yield those whose jobs are still due."""
    while (raw := hints._redis().rpop("ingest")) is not None:
        ids = [UUID(id_) for id_ in json.loads(b64decode(json.loads(raw)["body"]))[0]]
        if Job.objects.all().due().filter(pk=ids[1]).exists():
            yield ids


@pytest.mark.slow
def test_endless_jobs_of_several_workspaces_share_turns_evenly(workspace, turns):
    jobs = [endless(each) for each in (workspace, *(make_workspace() for _ in range(4)))]
    for _ in range(40):
        take_hints()
    assert set(turns) == {job.pk for job in jobs}
    assert min(turns.values()) >= 10
    assert max(turns.values()) - min(turns.values()) <= 6


def test_endless_syncs_do_not_delay_an_upload_of_another_workspace(workspace, turns):
    for each in (workspace, *(make_workspace() for _ in range(3))):
        endless(each)
    for _ in range(10):
        take_hints()
    late = Job.objects.create(workspace=make_workspace(), kind="ingest_document")
    for _ in range(5):
        take_hints()
    assert turns[late.pk] == 1


def test_upload_is_not_kept_waiting_by_syncs_of_its_own_workspace(workspace, turns):
    for _ in range(3):
        endless(workspace)
    take_hints()
    upload = Job.objects.create(workspace=workspace, kind="ingest_document")
    for _ in range(5):
        take_hints()
    assert turns[upload.pk] == 1


@pytest.mark.parametrize("n_others", [1, 9])
def test_many_uploads_of_others_do_not_delay_a_sync(workspace, turns, n_others):
    for other in (make_workspace() for _ in range(n_others)):
        uploads(other, 90 // n_others)
    sync = endless(workspace)
    for _ in range(20):
        take_hints()
    assert turns[sync.pk] >= 2
    assert turns.total() - turns[sync.pk] >= 15


def test_busy_workspace_leaves_worker_slots_to_others(workspace, turns):
    sync, busy = endless(workspace), make_workspace()

    def upload_some():
        for upload in uploads(busy, 5):
            hint_on_commit(upload)

    for _ in range(20):
        take_hints(upload_some)
    assert turns[sync.pk] >= 4


@pytest.mark.parametrize("is_stopped", [False, True])
def test_yielding_job_is_requeued_and_a_stopped_one_keeps_its_place(
    workspace, turns, monkeypatch, is_stopped
):
    job = endless(workspace)
    monkeypatch.setattr(run.worker_stop, "is_requested", lambda: is_stopped)
    run_job(workspace.pk, job.pk)
    job.refresh_from_db()
    assert (timezone.now() - job.due_at > timedelta(minutes=59)) == is_stopped
    assert is_stopped or Job.objects.all().due().filter(pk=job.pk).exists()
