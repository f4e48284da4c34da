"""Keys of hidden sources can't be reused: a rejection reveals nothing and changes nothing."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from ingest.models import Job
from search.models import Source
from tests.security.hidden_sources.requests import CANARY, contents, send
from tests.support.actors import Role
from tests.support.api import address, run
from tests.support.archives import zip_of

# A worker's heartbeat sees committed rows only.
_BY_A_WORKER = pytest.mark.django_db(transaction=True)
KEY = f"{CANARY}-key"


def upload_text(client, workspace, source, **options):
    body = {"path": "mine.md", "text": "mine", "source": source}
    return send(client, workspace, "/documents", "post", body, **options)


def upload_archive(client, workspace, source):
    file = SimpleUploadedFile("docs.zip", zip_of({"a.md": b"# A\n"}))
    return client.post(address(workspace, "/documents"), {"file": file, "source": source})


def make(client, workspace, key, kind="upload"):
    return send(client, workspace, "/sources", "post", {"key": key, "kind": kind})


def without_key(answer, key):
    status, body, _ = contents(answer)
    return status, body.replace(key, "KEY")


def test_hidden_key_is_rejected_like_a_visible_one(outside_editor, workspace, restricted_source):
    hidden, seen = make(outside_editor, workspace, KEY), make(outside_editor, workspace, "open")

    assert without_key(hidden, KEY) == without_key(seen, "open")
    assert (hidden.status_code, hidden.json()["code"]) == (409, "source_exists")


@pytest.mark.parametrize("kind", ["upload", "web"])
@pytest.mark.parametrize("send_to", [upload_text, upload_archive])
def test_every_upload_to_a_hidden_key_is_rejected_alike(
    outside_editor, workspace, restricted_source, send_to, kind
):
    Source.objects.filter(pk=restricted_source.source.pk).update(
        kind=kind, config={"url": f"https://{CANARY}.example/"}
    )
    before = Job.objects.count()
    refused = send_to(outside_editor, workspace, KEY)

    assert without_key(refused, KEY) == without_key(make(outside_editor, workspace, "open"), "open")
    assert Job.objects.count() == before
    assert Source.objects.get(pk=restricted_source.source.pk).versions.count() == 1


@pytest.mark.parametrize("send_to", [upload_text, upload_archive])
def test_upload_to_a_hidden_id_equals_one_to_a_missing_source(
    outside_editor, workspace, restricted_source, send_to
):
    missing = "00000000-0000-4000-8000-000000000000"
    id_ = str(restricted_source.source.pk)

    refused = send_to(outside_editor, workspace, id_)
    assert without_key(refused, id_) == without_key(send_to(outside_editor, workspace, missing), missing)
    assert (refused.status_code, refused.json()["code"]) == (422, "unknown_source")


@_BY_A_WORKER
@pytest.mark.parametrize("named", ["key", "id"])
def test_insider_uploads_to_the_restricted_source(insider, workspace, restricted_source, named):
    source = KEY if named == "key" else str(restricted_source.source.pk)
    answer = upload_text(insider, workspace, source)

    assert (answer.status_code, answer.json()["document"]["source"]) == (202, KEY)
    assert run(workspace, answer).state == "succeeded"


def test_default_source_of_uploads_may_be_restricted(person, workspace):
    Source.objects.create(workspace=workspace, key="uploads", kind="upload", is_restricted=True)
    body = {"path": "mine.md", "text": "mine"}
    refused = send(person(Role.EDITOR), workspace, "/documents", "post", body)

    assert (refused.status_code, refused.json()["code"]) == (409, "source_exists")
    assert send(person(Role.ADMIN), workspace, "/documents", "post", body).status_code == 202


def test_title_of_a_hidden_source_may_be_reused(person, workspace, restricted_source):
    body = {"key": "mine", "kind": "upload", "title": f"{CANARY} source"}

    assert send(person(Role.EDITOR), workspace, "/sources", "post", body).status_code == 201
