"""Model changes with an embedder that is lost, silent, refused or absent."""

import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.utils import timezone

from ingest.models import Job
from kebab.people.workspaces import store_settings
from kebab.tenancy.current_workspace import acting_everywhere
from search.embedders.hash_embedder import HashEmbedder
from search.errors import SpaceConflict, UnknownEmbedder
from search.retrieval.errors import EmbedderUnavailable
from search.retrieval.types import Mode
from search.vectors.backfill import count_without_vector
from tests.integration.search.embedders.conftest import FIRST, SECOND
from tests.integration.search.embedders.spaces import build, dims, open_job, space_in
from tests.support.corpus import write
from tests.support.jobs import embed, work
from tests.support.search import ask, sync


def test_one_space_of_an_allowed_embedder_is_built_at_a_time(filled_workspace, embedders):
    with pytest.raises(UnknownEmbedder, match=r"hash:8.*hash:512"):
        build(filled_workspace, embedder="hash:8")
    embedders(FIRST, SECOND, "hash:16")
    building = build(filled_workspace, embedder=SECOND)
    assert build(filled_workspace, embedder=SECOND).pk == building.pk
    with pytest.raises(SpaceConflict, match="retire"):
        build(filled_workspace, embedder="hash:16")
    filled_workspace.refresh_from_db()
    assert build(filled_workspace, embedder=FIRST).state == "live"  # chosen again, it ends the other's build
    assert dims(filled_workspace) == {"live": 64, "retired": 512}
    filled_workspace.refresh_from_db()
    with pytest.raises(SpaceConflict, match="already"):
        build(filled_workspace, embedder=FIRST)


def test_changed_default_embedder_keeps_search_working_with_the_old_model(filled_workspace, embedders):
    embedders(SECOND, FIRST)
    result = ask(filled_workspace, "pear tree", Mode.HYBRID)
    assert (result.degraded, result.warnings) == ((), ())
    write(filled_workspace, "b.md", "cherry")
    assert embed(filled_workspace).state == "succeeded"
    assert dims(filled_workspace) == {"live": 64}
    build(filled_workspace)
    work(open_job())
    assert dims(filled_workspace) == {"live": 512, "retired": 64}


def test_new_space_is_built_when_the_live_embedder_is_no_longer_configured(filled_workspace, embedders):
    embedders(SECOND)
    write(filled_workspace, "b.md", "cherry")
    build(filled_workspace)
    assert work(open_job()).state == "succeeded"
    assert dims(filled_workspace) == {"live": 512, "retired": 64}
    sync(filled_workspace)
    assert ask(filled_workspace, "cherry", Mode.VECTOR).hits[0].doc_path == "b.md"


def test_new_space_is_built_while_the_live_embedder_is_unavailable(filled_workspace, monkeypatch):
    real = HashEmbedder.embed_passages

    def dead(self, texts):
        if self.space.dim == 64 and texts:
            raise EmbedderUnavailable("The embedder answered 503.")
        return real(self, texts)

    monkeypatch.setattr(HashEmbedder, "embed_passages", dead)
    write(filled_workspace, "b.md", "cherry")
    build(filled_workspace, embedder=SECOND)
    work(open_job())
    assert dims(filled_workspace) == {"live": 512, "retired": 64}
    assert count_without_vector(space_in(filled_workspace, "live")) == 0


def test_a_job_whose_embedder_does_not_answer_waits_for_it_however_long_that_takes(
    filled_workspace, monkeypatch
):
    def dead(self, texts):
        raise EmbedderUnavailable("The embedder answered 429.", retry_after_s=1_000)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HashEmbedder, "embed_passages", dead)
        write(filled_workspace, "b.md", "cherry")
        job = embed(filled_workspace)
        for _ in range(12):
            assert (job.state, job.error) == ("running", "The embedder answered 429.")
            assert timedelta(seconds=900) < job.due_at - timezone.now() < timedelta(seconds=1_100)
            Job.objects.update(due_at=Now())
            job = work(job)
    Job.objects.update(due_at=Now())
    job = work(job)
    assert (job.state, job.error, job.stalled_attempts) == ("succeeded", "", 0)


def test_a_lasting_fault_ends_the_job_with_its_reason(filled_workspace, monkeypatch):
    def refuse(self, texts):
        raise EmbedderUnavailable("The embedder answered 401. Check its key.", is_lasting=True)

    monkeypatch.setattr(HashEmbedder, "embed_passages", refuse)
    write(filled_workspace, "b.md", "cherry")
    job = embed(filled_workspace)
    assert (job.state, job.error) == ("failed", "The embedder answered 401. Check its key.")


def test_embedding_job_waiting_for_its_endpoint_is_cancelled_at_once(filled_workspace, monkeypatch):
    released = threading.Event()

    @acting_everywhere()
    def slow(self, texts):
        Job.objects.update(cancel_requested=True)
        connection.close()
        released.wait(60)
        return HashEmbedder(self.space.dim).embed_passages([])

    with monkeypatch.context() as patch:
        patch.setattr(HashEmbedder, "embed_passages", slow)
        write(filled_workspace, "b.md", "cherry")
        job = embed(filled_workspace)
        assert not released.is_set()
        released.set()
    assert job.state == "cancelled"


def test_embedder_none_searches_by_words_only(filled_workspace):
    with pytest.raises(SpaceConflict, match="none"):
        build(filled_workspace, embedder="none")
    workspace = store_settings(filled_workspace, {"embedder": "none"})
    result = ask(workspace, "pear tree", Mode.HYBRID)
    assert (result.degraded, bool(result.hits)) == (("vector",), True)
