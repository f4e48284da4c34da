"""A stopping worker returns its jobs at once, without counting the attempt."""

import os
import subprocess
import sys

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.utils import timezone

from ingest.connectors.types import SkippedFile, SkipReason
from ingest.errors import JobYielded
from ingest.jobs.items.worker import ItemWorker
from ingest.jobs.items.writer import ItemWriter
from ingest.jobs.kinds import delete_source
from ingest.jobs.kinds.record_sync import ListingProgress
from ingest.jobs.queue import hints
from ingest.jobs.queue.context import JobContext
from ingest.jobs.queue.lease import MAX_STALLED_ATTEMPTS, LeaseKeeper, claim
from ingest.jobs.queue.request import request_embedding, request_source_deletion, request_sync
from ingest.jobs.queue.run import run_job
from ingest.models import JobItem
from kebab.stack.models import StackProcess
from kebab.stack.supervisor import worker_stop
from search.embedders.hash_embedder import HashEmbedder
from search.models import Change, ChunkVector, Document
from tests.support.corpus import write
from tests.support.jobs import fill, now_of, sync, work
from tests.support.stack import eventually

# Written 32 or 64 at a time, each time in a second: in all longer than a worker that stops may take.
N_FILES = 32 * 40
N_CHUNKS = 64 * 40
WORKER = """
import sys, time, django
django.setup()
from django.core.management import call_command
from django.db import connection
from ingest.jobs.items.writer import ItemWriter
from search.embedders.hash_embedder import HashEmbedder

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
    """Return a function that starts a worker of one queue, with leases longer than the test."""
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
    """Return a function that asks this process, as a worker, to stop, patiently or urgently."""

    def ask_(*, is_urgent=False):
        monkeypatch.setattr(worker_stop, "_requested_at", [0.0])
        worker_stop.request()
        if is_urgent:
            monkeypatch.setattr(worker_stop, "GRACE_S", -1.0)

    return ask_


def run_until_put_back(job):
    """Run the job, and assert that its lease has ended and that a new hint is queued."""
    hints._redis().delete("ingest")
    run_job(job.workspace_id, job.pk)
    now = now_of(job)
    assert (now.state, now.lease_until <= timezone.now(), now.hinted_at) == ("running", True, None)
    assert hints._redis().llen("ingest") > 0


def check_takeover(job, start_worker, queue, total):
    """Assert that another worker finishes the job after its own is stopped."""
    first = start_worker("first", queue, pause_s=1.0)
    eventually(lambda: now_of(job).items_done > 0, "the first worker has begun")
    start_worker("second", queue)

    first.terminate()
    assert first.wait(30) == 0
    eventually(lambda: now_of(job).is_finished, "the second worker has done the rest")
    ended = now_of(job)
    assert (ended.state, ended.attempt, ended.items_done) == ("succeeded", 2, total)


@pytest.mark.slow
def test_running_sync_moves_to_another_worker_on_shutdown(source, folder, start_worker):
    fill(folder, {f"{n}.md": f"# File {n}\n\ntext {n}\n" for n in range(N_FILES)})
    check_takeover(request_sync(source), start_worker, "ingest", N_FILES)
    assert set(JobItem.objects.values_list("attempts", flat=True)) == {1}
    assert Document.objects.count() == Change.objects.count() == N_FILES


@pytest.mark.slow
def test_running_embedding_moves_to_another_worker_on_shutdown(workspace, start_worker):
    write(workspace, "a.md", *(f"text {n}" for n in range(N_CHUNKS)))
    check_takeover(request_embedding(workspace.pk), start_worker, "embed", N_CHUNKS)
    assert ChunkVector.objects.count() == N_CHUNKS


def test_stopping_worker_finishes_its_batch(workspace, source, folder, ask, monkeypatch):
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


def test_batch_that_takes_too_long_is_broken_off_and_counts_as_no_attempt(source, folder, ask, monkeypatch):
    fill(folder, {f"{name}.md": f"{name}\n" for name in "abc"})
    job, submissions = request_sync(source), ItemWorker._submissions

    def run_out_of_patience(self, attempts):
        for submission in submissions(self, attempts):
            yield submission
            ask(is_urgent=True)

    monkeypatch.setattr(ItemWorker, "_submissions", run_out_of_patience)
    run_until_put_back(job)
    assert set(JobItem.objects.values_list("state", "attempts")) == {("pending", 0)}
    assert not Document.objects.exists()

    monkeypatch.undo()
    assert work(job).state == "succeeded"


def test_workers_that_stop_before_any_progress_do_not_fail_the_job(source, folder, ask, monkeypatch):
    fill(folder, {"a.md": "a\n"})
    job = request_sync(source)
    ask(is_urgent=True)
    for _ in range(MAX_STALLED_ATTEMPTS + 2):
        run_until_put_back(job)
    assert now_of(job).stalled_attempts == 0

    monkeypatch.undo()
    assert work(job).state == "succeeded"


def test_deletion_is_put_back_between_two_batches(source, folder, ask, monkeypatch):
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


def test_embedding_stores_what_it_has_computed_and_stops(workspace, ask, monkeypatch):
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


def test_resumable_listing_stops_at_once_and_another_after_a_grace_period(workspace, source, ask):
    job = request_sync(source)
    lease = claim(workspace.pk, job.pk)
    entries = [SkippedFile(path=path, reason=SkipReason.NOINDEX) for path in ("a", "b")]
    ask()
    with LeaseKeeper(lease) as keeper:
        progress = ListingProgress(
            JobContext(job=now_of(job), workspace=workspace, lease=lease, keeper=keeper)
        )
        assert list(progress.count_entries(entries)) == entries
        with pytest.raises(JobYielded):
            progress.record_position("c")
        ask(is_urgent=True)
        with pytest.raises(JobYielded):
            list(progress.count_entries(entries))
