"""A worker that is asked to stop: what it works on is another's at once, and nothing is held against it."""

import os
import subprocess
import sys
import time

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.utils import timezone

from ingest.connectors.types import SkippedFile, SkipReason
from ingest.errors import TurnOver
from ingest.jobs import delete_source, hints
from ingest.jobs.items import ItemWorker
from ingest.jobs.lease import MAX_STALLED_ATTEMPTS, LeaseKeeper, claim
from ingest.jobs.listing_progress import ListingProgress
from ingest.jobs.request import request_embedding, request_source_deletion, request_sync
from ingest.jobs.run import run_job
from ingest.jobs.work import Work
from ingest.jobs.writing import ItemWriter
from ingest.models import Job, JobItem
from kebab.stack import worker_stop
from kebab.stack.models import StackProcess
from search.embedders.hashing import HashEmbedder
from search.models import Change, ChunkVector, Document
from tests.integration.kebab.stack.conftest import eventually
from tests.support.corpus import write
from tests.support.jobs import fill, sync, work

# Written 32 or 64 at a time, each time in a second: in all longer than a worker that stops may take.
N_FILES = 32 * 40
N_CHUNKS = 64 * 40
WORKER = """
import sys, time, django
django.setup()
from django.core.management import call_command
from django.db import connection
from ingest.jobs.writing import ItemWriter
from search.embedders.hashing import HashEmbedder

def slowed(act):
    def act_slowly(*arguments):
        time.sleep(float(sys.argv[4]))
        return act(*arguments)
    return act_slowly

connection.settings_dict["NAME"] = sys.argv[1]
ItemWriter.write = slowed(ItemWriter.write)
HashEmbedder.embed_passages = slowed(HashEmbedder.embed_passages)
call_command("worker", "--name", sys.argv[2], "--queues", sys.argv[3], "--slots", "1")
"""


@pytest.fixture
def start_worker(transactional_db, tmp_path):
    """Give what starts a worker of one queue, whose leases are long: nobody gets its jobs by waiting."""
    started = []

    def start(name, queue, pause_s=0.0):
        arguments = [connection.settings_dict["NAME"], name, queue, str(pause_s)]
        environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "kebab.settings", "KEBAB_LEASE_S": "600"}
        with (tmp_path / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-c", WORKER, *arguments],
                env=environment,
                cwd=django_settings.BASE_DIR,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        started.append(process)
        eventually(StackProcess.objects.filter(name=name).exists, f"{name} is ready")
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def ask(monkeypatch):
    """Have this process be a worker that was asked to stop so many seconds ago."""

    def ask_(ago_s=0.0):
        monkeypatch.setattr(worker_stop, "_asked_at", [time.monotonic() - ago_s])

    return ask_


def now_of(job):
    return Job.objects.get(pk=job.pk)


def is_put_back(job):
    """Whether another worker may claim the job, and is told of it now and by the next sweep."""
    now = now_of(job)
    is_free = now.state == "running" and now.lease_until <= timezone.now()
    return is_free and now.hinted_at is None and hints._redis().llen("ingest") > 0


def run_until_put_back(job):
    """Work on the job as its hint has a worker do."""
    hints._redis().delete("ingest")
    run_job(job.workspace_id, job.pk)
    assert is_put_back(job)


def test_a_lone_long_sync_is_another_workers_when_its_own_stops(source, folder, workspace, start_worker):
    fill(folder, {f"{n}.md": f"# File {n}\n\ntext {n}\n" for n in range(N_FILES)})
    first = start_worker("first", "ingest", pause_s=1.0)
    job = request_sync(source)
    eventually(lambda: now_of(job).items_done > 0, "the first worker has begun")
    start_worker("second", "ingest")

    first.terminate()
    assert first.wait(30) == 0
    eventually(lambda: now_of(job).is_finished, "the second worker has done the rest")
    ended = now_of(job)
    assert (ended.state, ended.attempt, ended.items_done) == ("succeeded", 2, N_FILES)
    assert set(JobItem.objects.values_list("attempts", flat=True)) == {1}
    assert Document.objects.count() == Change.objects.count() == N_FILES


def test_a_lone_long_embedding_is_another_workers_when_its_own_stops(workspace, start_worker):
    write(workspace, "a.md", *(f"text {n}" for n in range(N_CHUNKS)))
    first = start_worker("first", "embed", pause_s=1.0)
    job = request_embedding(workspace.pk)
    eventually(lambda: now_of(job).items_done > 0, "the first worker has begun")
    start_worker("second", "embed")

    first.terminate()
    assert first.wait(30) == 0
    eventually(lambda: now_of(job).is_finished, "the second worker has done the rest")
    ended = now_of(job)
    assert (ended.state, ended.attempt, ended.items_done) == ("succeeded", 2, N_CHUNKS)
    assert ChunkVector.objects.count() == N_CHUNKS


def test_what_is_begun_is_ended_first(workspace, source, folder, ask, monkeypatch):
    fill(folder, {f"{n}.md": f"text {n}\n" for n in range(200)})
    job, write_ = request_sync(source), ItemWriter.write

    def write_and_ask(self, findings):
        write_(self, findings)
        ask()

    monkeypatch.setattr(ItemWriter, "write", write_and_ask)
    run_until_put_back(job)
    assert 0 < now_of(job).items_done < 200
    assert set(JobItem.objects.filter(state="pending").values_list("attempts", flat=True)) == {0}
    assert now_of(job).items_done == Document.objects.count()

    monkeypatch.undo()
    ended = work(job)
    assert (ended.state, ended.items_done, Change.objects.count()) == ("succeeded", 200, 200)
    assert set(JobItem.objects.values_list("attempts", flat=True)) == {1}


def test_what_takes_too_long_is_broken_off_and_held_against_no_item(source, folder, ask, monkeypatch):
    fill(folder, {f"{name}.md": f"{name}\n" for name in "abc"})
    job, submissions = request_sync(source), ItemWorker._submissions

    def run_out_of_patience(self, attempts):
        for submission in submissions(self, attempts):
            yield submission
            ask(worker_stop.PATIENCE_S + 1)

    monkeypatch.setattr(ItemWorker, "_submissions", run_out_of_patience)
    run_until_put_back(job)
    assert set(JobItem.objects.values_list("state", "attempts")) == {("pending", 0)}
    assert not Document.objects.exists()

    monkeypatch.undo()
    assert work(job).state == "succeeded"


def test_workers_that_stop_before_a_job_comes_to_anything_do_not_fail_it(source, folder, ask, monkeypatch):
    fill(folder, {"a.md": "a\n"})
    job = request_sync(source)
    ask(worker_stop.PATIENCE_S + 1)
    for _ in range(MAX_STALLED_ATTEMPTS + 2):
        run_until_put_back(job)
    assert now_of(job).stalled_attempts == 0

    monkeypatch.undo()
    assert work(job).state == "succeeded"


def test_a_deletion_is_put_back_between_two_batches(source, folder, ask, monkeypatch):
    fill(folder, {f"{name}.md": f"{name}\n" for name in "abc"})
    sync(source)
    monkeypatch.setattr(delete_source, "_BATCH", 1)
    job, delete_documents = request_source_deletion(source), delete_source.delete_documents

    def delete_and_ask(*arguments):
        delete_documents(*arguments)
        ask()

    monkeypatch.setattr(delete_source, "delete_documents", delete_and_ask)
    run_until_put_back(job)
    assert (Document.objects.count(), now_of(job).items_done) == (2, 1)

    monkeypatch.undo()
    assert (work(job).state, Document.objects.count()) == ("succeeded", 0)


def test_an_embedding_stores_what_it_has_computed_and_stops(workspace, ask, monkeypatch):
    write(workspace, "a.md", *(f"text {n}" for n in range(200)))
    job, embed_passages = request_embedding(workspace.pk), HashEmbedder.embed_passages

    def embed_and_ask(self, texts):
        ask()
        return embed_passages(self, texts)

    monkeypatch.setattr(HashEmbedder, "embed_passages", embed_and_ask)
    run_job(job.workspace_id, job.pk)
    assert (now_of(job).state, now_of(job).items_done, ChunkVector.objects.count()) == ("running", 64, 64)

    monkeypatch.undo()
    assert (work(job).items_done, ChunkVector.objects.count()) == (200, 200)


def test_a_listing_that_can_go_on_stops_at_once_another_when_patience_ends(workspace, source, ask):
    job = request_sync(source)
    lease = claim(workspace.pk, job.pk)
    entries = [SkippedFile(path=path, reason=SkipReason.NOINDEX) for path in ("a", "b")]
    ask()
    with LeaseKeeper(lease) as keeper:
        progress = ListingProgress(Work(job=now_of(job), workspace=workspace, lease=lease, keeper=keeper))
        assert list(progress.over(entries)) == entries
        with pytest.raises(TurnOver):
            progress.at("c")
        ask(worker_stop.PATIENCE_S + 1)
        with pytest.raises(TurnOver):
            list(progress.over(entries))
