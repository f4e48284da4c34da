"""Celery tasks find their rows, although a worker starts without a current workspace."""

from datetime import timedelta
from threading import Event

import pytest
from django.conf import settings
from django.utils import timezone

from ingest.jobs.queue.request import cancel, request_embedding, request_sync
from ingest.models import Job, JobKind
from kebab.celery import app
from kebab.http.api.models import IdempotencyKey
from kebab.identity.caller import operator_access
from kebab.identity.models import OAuthClient
from kebab.people.workspaces import store_settings
from kebab.tenancy.current_workspace import acting_nowhere
from kebab.webhooks.endpoints import send_test
from kebab.webhooks.models import Delivery
from search.corpus.blobs import has_blob, store_blob
from search.mirror import local_mirrors
from search.mirror.sync.follow import MirrorFollower
from search.models import AskedQuery, Change, ChunkVector, Document, EmbeddingSpace, KeptAnswer, Source
from tests.integration.search.answers.factories import make_answer
from tests.pages.query_log.factories import make_query
from tests.support.corpus import write
from tests.support.jobs import fill, grow_old, upload
from tests.support.search import sync
from tests.support.webhooks import make_endpoint

LONG_AGO = timezone.now() - timedelta(days=365)


def unhinted_job(workspace, source):
    job = Job.objects.create(workspace=workspace, kind=JobKind.SYNC_SOURCE, source=source)
    return (), lambda: Job.objects.get(pk=job.pk).hinted_at is not None


def due_source(workspace, source):
    Source.objects.update(sync_every_minutes=60, next_sync_at=LONG_AGO)
    return (), Job.objects.filter(source=source.pk, kind=JobKind.SYNC_SOURCE).exists


def older_chunks(workspace, source):
    write(workspace, "a.md", "text")
    Document.objects.update(chunker_version="c1")
    return (), Job.objects.filter(workspace=workspace, kind=JobKind.RECHUNK).exists


def expired_space(workspace, source):
    space = {"model": "m", "revision": "1", "dim": 2, "state": "retired", "retire_at": LONG_AGO}
    EmbeddingSpace.objects.create(workspace=workspace, **space)
    return (), Job.objects.filter(workspace=workspace, kind=JobKind.EMBED).exists


def old_answer(workspace, source):
    store_settings(workspace, {"answers_kept_days": 30})
    write(workspace, "a.md", "text")
    make_answer(Document.objects.get(path="a.md"), created_at=LONG_AGO)
    return (), lambda: not KeptAnswer.objects.exists()


def old_query(workspace, source):
    make_query(workspace, "apple", asked_at=LONG_AGO)
    return (), lambda: not AskedQuery.objects.exists()


def old_idempotency_key(workspace, source):
    times = {"claimed_at": LONG_AGO, "created_at": LONG_AGO}
    asked = {"actor": "token:1", "key": "k", "target": "POST /", "request_sha256": b"0"}
    IdempotencyKey.objects.create(workspace=workspace, **asked, **times)
    return (), lambda: not IdempotencyKey.objects.exists()


def old_changes(workspace, source):
    for path in ("a.md", "b.md"):
        write(workspace, path, "text")
    Change.objects.update(at=LONG_AGO)
    return (), lambda: Change.objects.count() == 1


def unneeded_bytes(workspace, source):
    forgotten = store_blob(workspace.pk, b"nothing needs it")
    grow_old(workspace)
    failed = cancel(upload(workspace, "a.md", b"kept for a retry"))
    Job.objects.filter(pk=failed.pk).update(finished_at=LONG_AGO)
    kept = [forgotten, failed.payload["blob"]]
    return (), lambda: not any(has_blob(workspace.pk, blob) for blob in kept)


def unread_folder(workspace, source):
    job = request_sync(source)
    return (str(workspace.pk), str(job.pk)), Document.objects.filter(path="a.md").exists


def unembedded_text(workspace, source):
    write(workspace, "a.md", "text")
    job = request_embedding(workspace.pk)
    return (str(workspace.pk), str(job.pk)), ChunkVector.objects.exists


def unmirrored_document(workspace, source):
    seq = write(workspace, "a.md", "text").seq
    return (str(workspace.pk),), lambda: local_mirrors.mirror_seq(workspace.pk) == seq


def changed_document(workspace, source):
    make_endpoint(workspace, "https://hooks.example.org/", "document.indexed")
    write(workspace, "a.md", "text")
    return (), Delivery.objects.exists


def due_delivery(workspace, source):
    endpoint = make_endpoint(workspace, "https://hooks.example.org/", "document.indexed")
    type(endpoint).objects.update(url="https://127.0.0.1/refused")
    send_test(operator_access(workspace, "operator:test"), endpoint.pk)
    return (), Delivery.objects.filter(attempts=1).exists


def old_delivery(workspace, source):
    due_delivery(workspace, source)
    Delivery.objects.update(created_at=LONG_AGO)
    return (), lambda: not Delivery.objects.exists()


def abandoned_client(workspace, source):
    OAuthClient.objects.create(redirect_uris=["https://app.example/"], active_at=LONG_AGO)
    return (), lambda: not OAuthClient.objects.exists()


#: By task name: a function that prepares work and returns the arguments and a check that it is done.
WORK = {
    "api.prune_idempotency_keys": old_idempotency_key,
    "ingest.end_spaces": expired_space,
    "ingest.release_expired": unneeded_bytes,
    "ingest.replace_older_chunks": older_chunks,
    "ingest.request_due_syncs": due_source,
    "ingest.run_embedding": unembedded_text,
    "ingest.run_job": unread_folder,
    "ingest.sweep": unhinted_job,
    "search.notify": changed_document,
    "people.prune_connections": abandoned_client,
    "search.prune_answers": old_answer,
    "search.prune_changes": old_changes,
    "search.prune_queries": old_query,
    "search.sync_mirror": unmirrored_document,
    "webhooks.deliver": due_delivery,
    "webhooks.prune": old_delivery,
}


def test_every_celery_task_has_a_test_case():
    app.loader.import_default_modules()
    ours = {name for name in app.tasks if not name.startswith("celery.")}
    scheduled = {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}

    assert ours == WORK.keys()
    assert scheduled <= ours


@pytest.mark.parametrize("name", WORK)
def test_task_works_without_a_current_workspace(workspace, source, folder, mirrors, name):
    fill(folder, {"a.md": "text\n"})
    arguments, is_done = WORK[name](workspace, source)
    assert not is_done()
    app.loader.import_default_modules()
    with acting_nowhere():
        app.tasks[name](*arguments)

    assert is_done()


def test_mirror_follower_sees_all_workspaces(workspace, mirrors):
    write(workspace, "a.md", "text")
    sync(workspace)
    seq = write(workspace, "b.md", "text").seq
    assert local_mirrors.mirror_seq(workspace.pk) < seq
    with acting_nowhere():
        assert MirrorFollower(mirrors, Event()).catch_up()

    assert local_mirrors.mirror_seq(workspace.pk) == seq
