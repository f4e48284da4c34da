"""Versions of a source over HTTP: added, listed, deleted."""

import pytest

from ingest.models import Job
from kebab.identity.models import AuditEvent
from search.corpus import ensure_source, ensure_version
from search.models import Document, SourceVersion
from tests.api.refusals import refusal_of
from tests.support.api import address, folder, run, upload

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def uploads(workspace):
    return ensure_source(workspace, "docs", kind="upload")


@pytest.fixture
def files(client, workspace, tmp_path, settings):
    root = folder(settings, tmp_path, a_md="# A\n\nfirst\n")
    return ensure_source(workspace, "files", kind="folder", config={"path": str(root)})


def path_of(workspace, source):
    return address(workspace, f"/sources/{source.pk}/versions")


def post(client, workspace, source, *, headers=None, **body):
    return client.post(path_of(workspace, source), body, format="json", headers=headers or {})


def tags(client, workspace, source):
    return [row["version"] for row in client.get(path_of(workspace, source)).json()["results"]]


def test_version_of_an_upload_source_is_created_without_a_job(client, workspace, uploads):
    response = post(client, workspace, uploads, tag="v1.0", title="The first")
    version = response.json()["version"]

    assert (response.status_code, response.json()["job"]) == (201, None)
    assert (version["version"], version["title"], version["commit"]) == ("v1.0", "The first", "")
    assert tags(client, workspace, uploads) == ["v1.0"]
    assert AuditEvent.objects.get(action="version.created").subject == "docs@v1.0"

    again = post(client, workspace, uploads, tag="v1.0", title="again")
    assert refusal_of(again) == (409, "version_exists", None)
    assert SourceVersion.objects.get().title == "The first"


def test_folder_is_read_into_its_new_version(client, workspace, files):
    key = {"Idempotency-Key": "k"}
    responses = [post(client, workspace, files, tag="v1", headers=key) for _ in range(2)]
    assert [response.status_code for response in responses] == [202, 202]
    assert Job.objects.get().kind == "sync_source"
    assert run(workspace, responses[0]).state == "succeeded"

    document = Document.objects.in_workspace(workspace).select_related("version").get()
    assert (document.path, document.version.tag) == ("a.md", "v1")


def test_wrong_field_is_refused_by_its_name(client, workspace, uploads, subtests):
    for body, code, field in (
        ({}, "invalid_request", "tag"),
        ({"tag": ""}, "invalid_request", "tag"),
        ({"tag": " "}, "invalid_request", "tag"),
        ({"tag": "x" * 201}, "invalid_request", "tag"),
        ({"tag": "v1", "title": "x" * 301}, "invalid_request", "title"),
        ({"tag": "v1", "commit": "x"}, "unknown_field", "commit"),
    ):
        with subtests.test(body=str(body)[:30]):
            assert refusal_of(post(client, workspace, uploads, **body)) == (400, code, field)
    assert not SourceVersion.objects.exists()


def test_version_is_deleted_with_its_documents_in_a_job(client, workspace):
    upload(client, workspace, source="docs", version="v1")
    upload(client, workspace, source="docs")
    source = ensure_source(workspace, "docs", kind="upload")
    response = client.delete(f"{path_of(workspace, source)}?tag=v1")

    assert (response.status_code, response.json()["job"]["kind"]) == (202, "delete_version")
    assert AuditEvent.objects.get(action="version.deleted").subject == "docs@v1"
    assert run(workspace, response).state == "succeeded"
    assert tags(client, workspace, source) == [None]
    assert Document.objects.in_workspace(workspace).get().version.tag == ""
    assert client.get(response.headers["Location"]).json()["report"] is None


def test_deleting_a_version_requires_an_existing_tag(client, workspace, uploads, subtests):
    for tag in ("", "v1"):
        ensure_version(uploads, tag)
    for query, expected in (
        ("", (400, "invalid_request", "tag")),
        ("?tag=", (400, "invalid_request", "tag")),
        ("?tag=v9", (404, "not_found", None)),
        ("?version=v1", (400, "unknown_field", "tag")),
    ):
        with subtests.test(query=query):
            assert refusal_of(client.delete(f"{path_of(workspace, uploads)}{query}")) == expected
    assert not Job.objects.exists()
