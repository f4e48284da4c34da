"""Versions of a source over HTTP: added, listed, deleted."""

import pytest

from ingest.models import Job
from kebab.people.models import AuditEvent
from search.corpus import ensure_source, ensure_version
from search.models import Document, SourceVersion
from tests.support.actors import Role, member_client
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


def post(client, workspace, source, **body):
    headers = body.pop("headers", {})
    return client.post(path_of(workspace, source), body, format="json", headers=headers)


def tags(client, workspace, source):
    return [row["version"] for row in client.get(path_of(workspace, source)).json()["results"]]


def test_a_version_of_uploads_is_there_at_once(client, workspace, uploads):
    response = post(client, workspace, uploads, tag="v1.0", title="The first")
    version = response.json()["version"]

    assert (response.status_code, response.json()["job"]) == (201, None)
    assert (version["version"], version["title"], version["commit"]) == ("v1.0", "The first", "")
    assert tags(client, workspace, uploads) == ["v1.0"]
    assert AuditEvent.objects.get(action="version.created").subject == "docs@v1.0"


def test_a_folder_is_read_into_its_new_version(client, workspace, files):
    response = post(client, workspace, files, tag="v1")
    assert response.status_code == 202
    assert response.json()["job"]["kind"] == "sync_source"
    assert run(workspace, response).state == "succeeded"

    document = Document.objects.in_workspace(workspace).select_related("version").get()
    assert (document.path, document.version.tag) == ("a.md", "v1")


def test_a_version_that_exists_is_a_conflict(client, workspace, uploads):
    post(client, workspace, uploads, tag="v1")
    response = post(client, workspace, uploads, tag="v1", title="again")

    assert (response.status_code, response.json()["code"]) == (409, "version_exists")
    assert SourceVersion.objects.get().title == ""


def test_the_same_key_adds_one_version(client, workspace, files):
    for _ in range(2):
        response = post(client, workspace, files, tag="v1", headers={"Idempotency-Key": "k"})
        assert response.status_code == 202
    assert Job.objects.count() == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "tag"),
        ({"tag": ""}, "tag"),
        ({"tag": " "}, "tag"),
        ({"tag": "x" * 201}, "tag"),
        ({"tag": "v1", "title": "x" * 301}, "title"),
        ({"tag": "v1", "commit": "x"}, "commit"),
    ],
)
def test_a_wrong_field_is_refused_by_its_name(client, workspace, uploads, body, field):
    response = post(client, workspace, uploads, **body)

    assert (response.status_code, response.json()["errors"][0]["field"]) == (400, field)
    assert not SourceVersion.objects.exists()


def test_a_version_is_deleted_with_its_documents_in_a_job(client, workspace):
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


@pytest.mark.parametrize(
    ("query", "status"), [("", 400), ("?tag=", 400), ("?tag=v9", 404), ("?version=v1", 400)]
)
def test_only_a_tagged_version_that_is_there_is_deleted(client, workspace, uploads, query, status):
    for tag in ("", "v1"):
        ensure_version(uploads, tag)
    response = client.delete(f"{path_of(workspace, uploads)}{query}")

    assert response.status_code == status
    assert not Job.objects.exists()


def test_readers_change_no_versions(client, reader, workspace, uploads):
    post(client, workspace, uploads, tag="v1")
    for caller in (reader, member_client(workspace, Role.VIEWER)):
        assert post(caller, workspace, uploads, tag="v2").status_code == 403
        assert caller.delete(f"{path_of(workspace, uploads)}?tag=v1").status_code == 403
    assert tags(reader, workspace, uploads) == ["v1"]


def test_a_source_says_how_it_stands_as_a_library(client, workspace):
    upload(client, workspace, source="docs")
    source = ensure_source(workspace, "docs", kind="upload")
    body = client.get(address(workspace, f"/sources/{source.pk}")).json()

    assert (body["library_id"], body["total_snippets"], body["rules"]) == ("/local/docs", 2, [])
    assert (body["state"], body["trust_score"]) == ("indexed", 1.0)
    path = address(workspace, f"/sources/{source.pk}")
    assert client.patch(path, {"description": "All."}, format="json").json()["trust_score"] == 2.0


def test_rules_are_stated_and_changed(client, workspace):
    body = {"key": "docs", "kind": "upload", "rules": ["Be brief."]}
    source = client.post(address(workspace, "/sources"), body, format="json").json()
    path = address(workspace, f"/sources/{source['id']}")

    assert source["rules"] == ["Be brief."]
    assert client.patch(path, {"rules": []}, format="json").json()["rules"] == []
    for rules in ("Be brief.", ["x" * 1_001], [""], ["a"] * 101):
        response = client.patch(path, {"rules": rules}, format="json")
        assert (response.status_code, response.json()["errors"][0]["field"]) == (400, response_field(rules))


def response_field(rules):
    return "rules" if isinstance(rules, str) or len(rules) > 100 else "rules[0]"


def test_a_deleted_upload_no_longer_counts(client, workspace):
    doc_id = upload(client, workspace, source="docs")
    upload(client, workspace, "other.md", source="docs", text="one\n")
    assert client.delete(address(workspace, f"/documents/{doc_id}")).status_code in (200, 204)
    source = ensure_source(workspace, "docs", kind="upload")

    assert source.total_snippets == 1
