import io
from datetime import timedelta

import pytest
from django.utils import timezone

from kebab.http.api.idempotency import CLAIM_TIMEOUT, RETENTION, prune_idempotency_keys
from kebab.http.api.models import IdempotencyKey
from kebab.http.api.tasks import prune_idempotency_keys as prune_task
from kebab.identity.models import AuditEvent, Workspace
from kebab.stack.paths import DataDirectory
from tests.support.actors import make_person, make_workspace, person_client, token_client
from tests.support.concurrency import at_once


@pytest.fixture
def client(workspace):
    return token_client(workspace, "ingest")


@pytest.fixture
def send(client, workspace):
    def send(body=None, *, key="k1", client=client, **options):
        path = f"/api/v1/workspaces/{workspace.slug}/notes"
        headers = {"Idempotency-Key": key}
        return client.post(path, body or {"text": "a"}, headers=headers, **{"format": "json", **options})

    return send


def test_second_request_is_answered_like_the_first_and_done_once(send):
    first, again = send(), send()
    assert first.status_code == again.status_code == 201
    assert again.json()["text"] == first.json()["text"]
    assert again.headers["Location"] == first.headers["Location"]
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    assert AuditEvent.objects.filter(action="note").count() == 1


@pytest.mark.django_db(transaction=True)
def test_concurrent_requests_with_one_key_run_once_without_a_postgres_error(settings):
    workspace = make_workspace()
    client = token_client(workspace, "ingest")

    def send():
        path, headers = f"/api/v1/workspaces/{workspace.slug}/notes", {"Idempotency-Key": "k1"}
        return client.post(path, {"text": "a"}, headers=headers, format="json").status_code

    log = DataDirectory(settings.KEBAB_DATA_DIR).logs / "postgres.log"
    before = log.stat().st_size
    statuses = at_once([send] * 8)
    assert 201 in statuses and set(statuses) <= {201, 409}
    assert AuditEvent.objects.filter(action="note").count() == 1
    assert "duplicate key" not in log.read_text(errors="replace")[before:]


def test_withheld_field_is_never_stored(send):
    assert send().json()["secret"] == "s3cret"
    assert send().json()["secret"] is None
    assert "s3cret" not in str(IdempotencyKey.objects.values().get())


def test_key_of_another_body_is_refused_whatever_the_order_of_its_fields(send):
    send({"text": "a", "weight": 1.0})
    assert send({"weight": 1.0, "text": "a"}).status_code == 201
    response = send({"text": "b"})
    assert (response.status_code, response.json()["code"]) == (422, "idempotency_key_reused")


def test_forms_and_files_are_compared_by_content(send):
    assert send({"text": "a"}, format="multipart").status_code == 201
    assert send({"text": "a"}, format="multipart").status_code == 201
    assert send({"text": "b"}, format="multipart").status_code == 422

    def upload(content):
        return send({"text": "a", "file": io.BytesIO(content)}, key="k2", format="multipart")

    assert upload(b"first").json()["content"] == "first"
    assert upload(b"first").headers["Idempotency-Replayed"] == "true"
    assert upload(b"other").status_code == 422


def test_failed_request_may_be_sent_again(send):
    assert send({"text": "refuse"}).status_code == 413
    assert not IdempotencyKey.objects.exists()
    assert send({"text": "better"}).status_code == 201


def test_idempotent_retry_waits_for_a_running_request_and_replaces_a_crashed_one(send):
    send()
    IdempotencyKey.objects.update(status=None)
    response = send()
    assert (response.status_code, response.json()["code"]) == (409, "idempotency_in_progress")
    assert int(response.headers["Retry-After"]) > 0

    IdempotencyKey.objects.update(status=None, claimed_at=timezone.now() - CLAIM_TIMEOUT)
    response = send()
    assert response.status_code == 201
    assert "Idempotency-Replayed" not in response.headers
    assert AuditEvent.objects.filter(action="note").count() == 2
    assert send().headers["Idempotency-Replayed"] == "true"


def test_answer_is_kept_for_a_day(send):
    send()
    IdempotencyKey.objects.update(created_at=timezone.now() - RETENTION - timedelta(seconds=1))
    assert send({"text": "b"}).status_code == 201
    assert prune_idempotency_keys() == 0
    IdempotencyKey.objects.update(created_at=timezone.now() - RETENTION - timedelta(seconds=1))
    prune_task()
    assert not IdempotencyKey.objects.exists()


def test_callers_have_keys_of_their_own(send, workspace):
    send()
    assert send({"text": "b"}, client=token_client(workspace, "ingest")).status_code == 201


def test_key_that_is_too_long_or_unprintable_is_refused(send):
    for key in ("", "k" * 201, "k\x01", "ключ"):
        response = send(key=key.encode().decode("latin-1"))
        assert (response.status_code, response.json()["code"]) == (400, "invalid_idempotency_key"), key


def test_key_works_outside_of_workspaces(db):
    client = person_client(make_person())
    for _ in range(2):
        headers = {"Idempotency-Key": "k1"}
        response = client.post("/api/v1/workspaces", {"slug": "once"}, format="json", headers=headers)
        assert response.status_code == 201
    assert Workspace.objects.count() == 1
