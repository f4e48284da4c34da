"""Embedding jobs embed every chunk, no text twice, and lose no request."""

from datetime import UTC, datetime

import pytest

from ingest.jobs.kinds import embed as embedding_work
from ingest.jobs.queue import run
from ingest.jobs.queue.request import request_embedding
from ingest.models import Job
from ingest.tasks import run_embedding_task
from kebab.tenancy.current_workspace import acting_nowhere
from search.corpus import replace_document
from search.embedders.hash_embedder import HashEmbedder
from search.models import Bookmark, ChunkVector, Document, EmbeddingSpace
from search.vectors import backfill
from search.vectors.backfill import count_without_vector, store_vectors
from tests.support.corpus import chunk, draft, make_place, make_workspace, write
from tests.support.jobs import Killed, die, embed, expire, work


@pytest.fixture
def embedded_texts(monkeypatch):
    """Return the list of embedded texts, in order."""
    seen, real = [], HashEmbedder.embed_passages

    def note_texts(self, texts):
        seen.extend(texts)
        return real(self, texts)

    monkeypatch.setattr(HashEmbedder, "embed_passages", note_texts)
    return seen


def test_every_chunk_gets_its_vector_and_a_second_job_embeds_nothing(workspace, embedded_texts):
    write(workspace, "a.md", *(f"text {n}" for n in range(150)))
    job = embed(workspace)
    assert (job.state, job.items_done, job.items_total, job.calls) == ("succeeded", 150, 150, 150)
    assert count_without_vector(EmbeddingSpace.objects.get()) == 0
    assert len(embedded_texts) == 150
    again = embed(workspace)
    assert (again.state, again.calls, len(embedded_texts)) == ("succeeded", 0, 150)


def test_equal_texts_are_embedded_once_however_many_there_are(workspace, embedded_texts):
    write(workspace, "a.md", *["same"] * 200)
    write(workspace, "b.md", "same", "different")
    job = embed(workspace)
    assert sorted(embedded_texts) == ["Guide\ndifferent", "Guide\nsame"]
    assert (job.calls, ChunkVector.objects.count()) == (2, 202)
    write(workspace, "renamed.md", "same", "different")
    assert (embed(workspace).calls, ChunkVector.objects.count()) == (0, 204)


@pytest.mark.parametrize("planned", [1, 2_000])
def test_bookmarked_documents_are_embedded_first_then_the_newest(
    workspace, embedded_texts, monkeypatch, planned
):
    monkeypatch.setattr(backfill, "_MAX_PLANNED", planned)
    for day, name in enumerate(["marked", "older", "newer"], 1):
        write(workspace, f"{name}.md", *(f"{name} {n}" for n in range(70)))
        Document.objects.filter(path=f"{name}.md").update(dated_at=datetime(2026, 3, day, tzinfo=UTC))
    Bookmark.objects.create(
        workspace=workspace, document=Document.objects.get(path="marked.md"), creator="ann"
    )
    assert embed(workspace).state == "succeeded"
    assert [text.split()[1] for text in embedded_texts] == ["marked"] * 70 + ["newer"] * 70 + ["older"] * 70


def test_long_embedding_yields_to_another_workspace(workspace, monkeypatch):
    monkeypatch.setattr(embedding_work, "_TURN_S", -1.0)
    other = make_workspace()
    jobs = []
    for each in (workspace, other):
        write(each, "a.md", "text")
        jobs.append(request_embedding(each.pk))
    with acting_nowhere():
        run_embedding_task(str(workspace.pk), str(jobs[0].pk))
    running = Job.objects.get(pk=jobs[0].pk)
    # Its batch took longer than its turn, and is kept: two that wait for each other come to their ends.
    assert (running.state, running.items_done) == ("running", 1)
    monkeypatch.undo()
    assert [work(job).state for job in reversed(jobs)] == ["succeeded", "succeeded"]


def test_breadcrumb_is_embedded_with_the_text(workspace, embedded_texts):
    write(workspace, "a.md", chunk("one", heading="Guide > Setup"), chunk("two", 1, heading=""))
    embed(workspace)
    assert sorted(embedded_texts) == ["Guide > Setup\none", "two"]


def test_text_that_changes_while_it_is_embedded_gets_no_stale_vector(workspace, monkeypatch):
    place = make_place(workspace)
    replace_document(place, draft(chunk("one", heading="Before")))
    store = store_vectors

    def change_first(space, chunks, vectors):
        monkeypatch.setattr(embedding_work, "store_vectors", store)
        replace_document(place, draft(chunk("one", heading="After")))
        return store(space, chunks, vectors)

    monkeypatch.setattr(embedding_work, "store_vectors", change_first)
    embed(workspace)
    assert not ChunkVector.objects.exists()
    embed(workspace)
    assert ChunkVector.objects.count() == 1


def test_text_that_is_written_while_a_job_runs_is_embedded_before_it_ends(workspace, monkeypatch):
    write(workspace, "a.md", "one")
    store = embedding_work._store_batch

    def write_more(job_work, space, *batch):
        store(job_work, space, *batch)
        monkeypatch.setattr(embedding_work, "_store_batch", store)
        write(workspace, "b.md", "two")
        assert request_embedding(workspace.pk).pk == job_work.job.pk

    monkeypatch.setattr(embedding_work, "_store_batch", write_more)
    job = embed(workspace)
    assert (job.state, job.items_done, ChunkVector.objects.count()) == ("succeeded", 2, 2)


def test_embedding_requested_while_a_job_ends_is_done(workspace, monkeypatch):
    write(workspace, "a.md", "one")
    end = run._end_job

    def wish_first(lease, state, error=""):
        monkeypatch.setattr(run, "_end_job", end)
        write(workspace, "b.md", "two")
        request_embedding(workspace.pk)
        end(lease, state, error)

    monkeypatch.setattr(run, "_end_job", wish_first)
    job = embed(workspace)
    assert job.state == "running"
    assert work(job).state == "succeeded"
    assert ChunkVector.objects.count() == 2


@pytest.fixture
def at_second_batch(monkeypatch):
    """Return a function that registers a call before the second batch is stored."""

    def at(call):
        store, stored = embedding_work._store_batch, []

        def call_and_store(*arguments):
            stored.append(1)
            if len(stored) == 2:
                call(*arguments)
            store(*arguments)

        monkeypatch.setattr(embedding_work, "_store_batch", call_and_store)

    return at


def test_killed_embedding_job_resumes_after_its_stored_vectors(workspace, embedded_texts, at_second_batch):
    write(workspace, "a.md", *(f"text {n}" for n in range(150)))
    at_second_batch(die)
    with pytest.raises(Killed):
        embed(workspace)
    assert ChunkVector.objects.count() == 64
    expire(Job.objects.get())
    embedded_texts.clear()
    job = work(Job.objects.get())
    assert (job.state, job.items_done, len(embedded_texts)) == ("succeeded", 150, 150 - 64)


def test_job_fails_when_the_embedder_differs_from_the_live_space(workspace):
    write(workspace, "a.md", "one")
    embed(workspace)
    EmbeddingSpace.objects.update(revision="0")
    write(workspace, "b.md", "two")
    job = embed(workspace)
    assert (job.state, "KEBAB_EMBEDDER" in job.error) == ("failed", True)
    assert ChunkVector.objects.count() == 1


def test_job_without_an_embedder_does_nothing(workspace, settings):
    settings.KEBAB_EMBEDDER = "none"
    write(workspace, "a.md", "one")
    assert embed(workspace).state == "succeeded"
    assert not EmbeddingSpace.objects.exists()


def test_embedding_job_is_cancelled_between_batches(workspace, monkeypatch):
    write(workspace, "a.md", *(f"text {n}" for n in range(150)))
    store = embedding_work._store_batch

    def cancel_after(job_work, *arguments):
        store(job_work, *arguments)
        Job.objects.update(cancel_requested=True)
        job_work.keeper._check_lease(renew=False)

    monkeypatch.setattr(embedding_work, "_store_batch", cancel_after)
    assert embed(workspace).state == "cancelled"
    assert ChunkVector.objects.count() == 64
