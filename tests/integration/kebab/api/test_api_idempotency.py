"""A POST that names itself is done once."""

import io
from datetime import timedelta

import pytest
from django.utils import timezone

from kebab.api.idempotency import KEEP, PATIENCE, prune_idempotency_keys
from kebab.api.models import IdempotencyKey
from kebab.api.tasks import prune_idempotency_keys as prune_task
from kebab.people.models import AuditEvent, Workspace
from tests.support.actors import make_person, person_client, token_client


@pytest.fixture
def client(workspace):
    return token_client(workspace, "ingest")


def send(client, workspace, key, body=None, **options):
    headers = {"Idempotency-Key": key}
    path = f"/api/v1/workspaces/{workspace.slug}/notes"
    return client.post(path, body or {"text": "a"}, format=options.get("format", "json"), headers=headers)


def test_the_second_request_is_answered_like_the_first_and_done_only_once(client, workspace):
    first = send(client, workspace, "k1")
    again = send(client, workspace, "k1")

    assert first.status_code == again.status_code == 201
    assert again.json()["text"] == first.json()["text"]
    assert again.headers["Location"] == first.headers["Location"]
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    assert AuditEvent.objects.filter(action="note").count() == 1


def test_a_field_that_is_withheld_is_never_stored(client, workspace):
    assert send(client, workspace, "k1").json()["secret"] == "s3cret"
    assert send(client, workspace, "k1").json()["secret"] is None
    assert "s3cret" not in str(IdempotencyKey.objects.values().get())


def test_the_same_key_for_another_body_is_refused(client, workspace):
    send(client, workspace, "k1")
    response = send(client, workspace, "k1", {"text": "b"})

    assert (response.status_code, response.json()["code"]) == (422, "idempotency_key_reused")


def test_the_order_of_a_bodys_keys_makes_no_other_request(client, workspace):
    send(client, workspace, "k1", {"text": "a", "weight": 1.0})

    assert send(client, workspace, "k1", {"weight": 1.0, "text": "a"}).status_code == 201


def test_forms_are_told_apart_by_what_they_hold(client, workspace):
    send(client, workspace, "k1", {"text": "a"}, format="multipart")

    assert send(client, workspace, "k1", {"text": "a"}, format="multipart").status_code == 201
    assert send(client, workspace, "k1", {"text": "b"}, format="multipart").status_code == 422


def test_an_uploaded_file_counts_and_can_still_be_read(client, workspace):
    def upload(content):
        return send(client, workspace, "k1", {"text": "a", "file": io.BytesIO(content)}, format="multipart")

    assert upload(b"first").json()["content"] == "first"
    assert upload(b"first").headers["Idempotency-Replayed"] == "true"
    assert upload(b"other").status_code == 422


def test_a_request_that_failed_may_be_sent_again(client, workspace):
    assert send(client, workspace, "k1", {"text": "refuse"}).status_code == 413
    assert not IdempotencyKey.objects.exists()
    assert send(client, workspace, "k1", {"text": "better"}).status_code == 201


def test_while_the_first_is_running_the_second_is_told_to_wait(client, workspace):
    send(client, workspace, "k1")
    IdempotencyKey.objects.update(status=None)
    response = send(client, workspace, "k1")

    assert (response.status_code, response.json()["code"]) == (409, "idempotency_in_progress")
    assert int(response.headers["Retry-After"]) > 0


def test_a_first_that_crashed_is_done_again_after_a_minute(client, workspace):
    send(client, workspace, "k1")
    IdempotencyKey.objects.update(status=None, claimed_at=timezone.now() - PATIENCE)
    response = send(client, workspace, "k1")

    assert response.status_code == 201
    assert "Idempotency-Replayed" not in response.headers
    assert AuditEvent.objects.filter(action="note").count() == 2
    assert send(client, workspace, "k1").headers["Idempotency-Replayed"] == "true"


def test_an_answer_is_kept_for_a_day(client, workspace):
    send(client, workspace, "k1")
    IdempotencyKey.objects.update(created_at=timezone.now() - KEEP - timedelta(seconds=1))

    assert send(client, workspace, "k1", {"text": "b"}).status_code == 201
    assert prune_idempotency_keys() == 0
    IdempotencyKey.objects.update(created_at=timezone.now() - KEEP - timedelta(seconds=1))
    prune_task()
    assert not IdempotencyKey.objects.exists()


def test_callers_do_not_meet_each_others_keys(client, workspace):
    send(client, workspace, "k1")
    response = send(token_client(workspace, "ingest"), workspace, "k1", {"text": "b"})

    assert response.status_code == 201


@pytest.mark.parametrize("key", ["", "k" * 201, "k\x01", "ключ"])
def test_a_key_that_is_too_long_or_unprintable_is_refused(client, workspace, key):
    response = send(client, workspace, key.encode().decode("latin-1"))

    assert (response.status_code, response.json()["code"]) == (400, "invalid_idempotency_key")


def test_it_works_outside_of_any_workspace(db):
    client = person_client(make_person())
    headers = {"Idempotency-Key": "k1"}
    for _ in range(2):
        response = client.post("/api/v1/workspaces", {"slug": "once"}, format="json", headers=headers)
        assert response.status_code == 201

    assert Workspace.objects.count() == 1
