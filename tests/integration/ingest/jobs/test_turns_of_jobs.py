"""Jobs that go on for hours: they make room, and take turns with all others, of whatever workspace."""

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

from ingest.errors import TurnOver
from ingest.jobs import hints, run, sync_source
from ingest.jobs.hints import hint_due_jobs, hint_on_commit
from ingest.jobs.run import run_job
from ingest.models import Job
from search.corpus import ensure_source
from tests.support.corpus import make_workspace

SLOTS = 2


@pytest.fixture(autouse=True)
def slots(settings):
    settings.KEBAB_WORKER_SLOTS = SLOTS


@pytest.fixture
def turns(monkeypatch):
    """How many turns each job has had: syncs have no end, uploads end with their first."""
    had = Counter()

    def yield_(work):
        had[work.job.pk] += 1
        work.lease.write(stalled_attempts=0)
        raise TurnOver("others wait")

    def end(work):
        had[work.job.pk] += 1
        return sync_source.Ending.CANCELLED

    monkeypatch.setattr(run, "_WORK", {"sync_source": yield_, "ingest_document": end})
    monkeypatch.setattr(run.hints, "ask_for_sync", lambda workspace_id: None)
    return had


def endless(workspace):
    source = ensure_source(workspace, f"notes-{Job.objects.count()}", kind="folder", config={"path": "/"})
    return Job.objects.create(workspace=workspace, kind="sync_source", source=source, due_at=an_hour_ago())


def uploads(workspace, count):
    return [
        Job.objects.create(workspace=workspace, kind="ingest_document", due_at=an_hour_ago())
        for _ in range(count)
    ]


def an_hour_ago():
    return timezone.now() - timedelta(hours=1)


def take_hints(meanwhile=lambda: None):
    """Have as many workers as there are slots take a hint each and work on it; ten seconds go by."""
    taken = list(islice(hinted(), SLOTS))
    Job.objects.update(hinted_at=F("hinted_at") - timedelta(seconds=10))
    meanwhile()
    for ids in taken:
        run_job(*ids)
    if not taken:
        hint_due_jobs()


def hinted():
    """Take hints from the queue, and give the ids of those that lead to work: the others take no time."""
    while (raw := hints._redis().rpop("ingest")) is not None:
        ids = [UUID(id_) for id_ in json.loads(b64decode(json.loads(raw)["body"]))[0]]
        if Job.objects.all().due().filter(pk=ids[1]).exists():
            yield ids


def test_jobs_of_many_workspaces_that_have_no_end_get_as_many_turns_each(workspace, turns):
    jobs = [endless(each) for each in (workspace, *(make_workspace() for _ in range(4)))]
    for _ in range(40):
        take_hints()
    assert set(turns) == {job.pk for job in jobs}
    assert min(turns.values()) >= 10
    assert max(turns.values()) - min(turns.values()) <= 6


def test_an_upload_of_another_workspace_is_not_kept_waiting_by_syncs_without_end(workspace, turns):
    for each in (workspace, *(make_workspace() for _ in range(3))):
        endless(each)
    for _ in range(10):
        take_hints()
    late = Job.objects.create(workspace=make_workspace(), kind="ingest_document")
    for _ in range(5):
        take_hints()
    assert turns[late.pk] == 1


def test_an_upload_is_not_kept_waiting_by_a_sync_of_its_own_workspace(workspace, turns):
    endless(workspace), endless(workspace), endless(workspace)
    take_hints()
    (upload,) = uploads(workspace, 1)
    Job.objects.filter(pk=upload.pk).update(due_at=Now())
    for _ in range(5):
        take_hints()
    assert turns[upload.pk] == 1


@pytest.mark.parametrize("n_others", [1, 9])
def test_a_sync_is_not_kept_waiting_by_thousands_of_uploads_of_others(workspace, turns, n_others):
    for other in (make_workspace() for _ in range(n_others)):
        uploads(other, 200 // n_others)
    sync = endless(workspace)
    for _ in range(40):
        take_hints()
    assert turns[sync.pk] >= 4
    assert turns.total() - turns[sync.pk] >= 30


def test_who_asks_without_pause_leaves_places_to_those_whose_turn_it_is(workspace, turns):
    sync, busy = endless(workspace), make_workspace()

    def upload_some():
        for upload in uploads(busy, 5):
            hint_on_commit(upload)

    for _ in range(20):
        take_hints(upload_some)
    assert turns[sync.pk] >= 4


def test_a_job_that_makes_room_is_due_from_then_on(workspace, turns):
    job = endless(workspace)
    run_job(workspace.pk, job.pk)
    job.refresh_from_db()
    assert timezone.now() - job.due_at < timedelta(minutes=1)
    assert Job.objects.all().due().filter(pk=job.pk).exists()


def test_a_job_whose_worker_stops_keeps_its_place(workspace, turns, monkeypatch):
    job = endless(workspace)
    monkeypatch.setattr(run.worker_stop, "is_asked", lambda: True)
    run_job(workspace.pk, job.pk)
    job.refresh_from_db()
    assert timezone.now() - job.due_at > timedelta(minutes=59)
