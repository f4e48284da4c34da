"""Uploading documents, and waiting until they are found."""

import io
import threading
import time

import pytest
from django.db import connection

from ingest.api.parsers import UploadLimit
from ingest.jobs.request import cancel
from ingest.models import Job
from kebab.tenancy.acting import acting_everywhere
from search.blobs import read_blob
from search.models import Document, Source
from tests.support.actors import Role, member_client, token_client
from tests.support.api import MARKDOWN, address, folder, post_text, run, run_to_end, upload

pytestmark = pytest.mark.django_db(transaction=True)


CONTENT = MARKDOWN.encode()


def post_file(client, workspace, content=CONTENT, *, name="install.md", **fields):
    body = {"file": io.BytesIO(content), **fields}
    body["file"].name = name
    return client.post(address(workspace, "/documents"), body, format="multipart")


@pytest.fixture
def worker(workspace):
    """Works off jobs as they come, in a thread, as a Celery worker would."""
    stop = threading.Event()

    @acting_everywhere()
    def work():
        try:
            while not stop.wait(0.01):
                for job in Job.objects.in_workspace(workspace).filter(kind="ingest_document").due():
                    run_to_end(job)
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    yield
    stop.set()
    thread.join()


def test_an_upload_is_answered_with_the_document_it_becomes_and_its_job(client, workspace):
    response = post_text(client, workspace)
    body = response.json()

    assert response.status_code == 202
    assert body["document"]["path"] == "guides/install.md"
    assert (body["document"]["source"], body["document"]["version"]) == ("uploads", None)
    assert (body["job"]["kind"], body["job"]["state"]) == ("ingest_document", "queued")
    assert (body["job"]["source"], body["job"]["path"]) == ("uploads", "guides/install.md")
    assert body["seq"] is None
    assert client.get(response.headers["Location"]).json()["id"] == body["job"]["id"]
    assert client.get(address(workspace, f"/documents/{body['document']['id']}")).status_code == 404

    assert run(workspace, response).state == "succeeded"
    document = client.get(address(workspace, f"/documents/{body['document']['id']}")).json()
    assert document["path"] == "guides/install.md"
    assert document["title"] == "Install"
    assert document["chunk_count"] == 2


def test_everything_that_is_stated_goes_before_what_is_found(client, workspace):
    stated = {
        "title": "Stated",
        "tags": ["b", "a", "b"],
        "lang": "pt-BR",
        "trust_level": "primary",
        "metadata": {"team": {"name": "docs"}},
    }
    doc_id = upload(client, workspace, source="handbook", version="2.0", **stated)
    document = client.get(address(workspace, f"/documents/{doc_id}")).json()

    assert document["title"] == "Stated"
    assert document["tags"] == ["b", "a"]
    assert document["lang"] == "pt-BR"
    assert document["trust_level"] == "primary"
    assert document["metadata"]["team"] == {"name": "docs"}
    assert (document["source"], document["version"]) == ("handbook", "2.0")
    chunks = client.get(address(workspace, f"/documents/{doc_id}/chunks")).json()["results"]
    assert all(chunk["breadcrumb"].startswith("Stated") for chunk in chunks)


def test_a_form_says_the_same_as_json(client, workspace):
    response = post_file(
        client,
        workspace,
        path="a/b.md",
        title="Stated",
        tags=["x", "y"],
        lang="de",
        trust_level="secondary",
        metadata='{"n": 1}',
        source="handbook",
        version="3",
    )
    assert response.status_code == 202, response.content
    run(workspace, response)
    document = client.get(address(workspace, f"/documents/{response.json()['document']['id']}")).json()

    assert document["path"] == "a/b.md"
    assert (document["title"], document["tags"], document["lang"]) == ("Stated", ["x", "y"], "de")
    assert (document["trust_level"], document["metadata"]["n"]) == ("secondary", 1)
    assert (document["source"], document["version"]) == ("handbook", "3")


def test_a_file_without_a_path_goes_by_its_name(client, workspace):
    response = post_file(client, workspace, name="Über uns.md")

    assert response.json()["document"]["path"] == "Über uns.md"
    blob = Job.objects.get().payload["blob"]
    assert read_blob(workspace.pk, blob) == MARKDOWN.encode()


def test_a_path_that_exists_is_replaced(client, workspace):
    first = upload(client, workspace, text="# Old\n\nold words\n")
    second = upload(client, workspace, text="# New\n\nnew words\n")

    assert first == second
    assert Document.objects.in_workspace(workspace).get().title == "New"


def test_paths_are_kept_in_their_normal_form(client, workspace):
    response = post_text(client, workspace, "cafe\u0301.md")

    assert response.json()["document"]["path"] == "caf\u00e9.md"


@pytest.mark.parametrize("path", ["/etc/passwd", "../a.md", "a/../b.md", "a#b.md", "a\\b.md", "a//b.md"])
def test_a_path_that_cannot_be_cited_is_refused(client, workspace, path):
    response = post_text(client, workspace, path)

    assert (response.status_code, response.json()["code"]) == (422, "invalid_path")
    assert not Job.objects.exists()


def test_waiting_ends_when_searches_find_the_document(client, workspace, worker):
    response = post_text(client, workspace, text="# T\n\nzebrafish\n", wait=True)
    body = response.json()

    assert response.status_code == 201, response.content
    assert body["seq"] == body["job"]["seq"] > 0
    assert body["job"]["state"] == "succeeded"
    assert client.get(response.headers["Location"]).json()["id"] == body["document"]["id"]
    hits = client.get(address(workspace, "/search"), {"q": "zebrafish", "mode": "lexical"}).json()["hits"]
    assert [hit["doc_id"] for hit in hits] == [body["document"]["id"]]


def test_waiting_never_claims_what_is_not_so(client, workspace, settings):
    settings.KEBAB_WAIT_LIMIT_S = 0.02
    response = post_text(client, workspace, wait=True)

    assert response.status_code == 202
    assert response.json()["seq"] is None
    assert response.json()["job"]["state"] == "queued"


def test_waiting_does_not_take_an_ended_job_for_a_searchable_document(client, workspace, worker, monkeypatch):
    from search import node
    from search.retrieval.errors import NotSearchableYet

    def late(*_, **__):
        raise NotSearchableYet("late")

    monkeypatch.setattr(node, "wait_for_seq", late)
    response = post_text(client, workspace, wait=True)

    assert response.status_code == 202
    assert response.json()["seq"] is None


def test_a_file_that_cannot_be_read_is_refused_to_who_waits(client, workspace, worker):
    response = client.post(
        address(workspace, "/documents?wait_for=searchable"),
        {"file": io.BytesIO(b"\x00\x01\x02\xff" * 200), "path": "a.bin"},
        format="multipart",
    )
    problem = response.json()

    assert (response.status_code, problem["code"]) == (422, "not_ingested")
    assert "a.bin" in problem["detail"]


def test_a_job_that_is_cancelled_is_told_to_who_waits(client, workspace):
    @acting_everywhere()
    def cancel_it():
        try:
            while not (job := Job.objects.in_workspace(workspace).first()):
                time.sleep(0.005)
            cancel(job)
        finally:
            connection.close()

    thread = threading.Thread(target=cancel_it)
    thread.start()
    response = post_text(client, workspace, wait=True)
    thread.join()

    assert (response.status_code, response.json()["code"]) == (422, "not_ingested")
    assert "cancelled" in response.json()["detail"]


def test_waiting_is_for_searchable_and_nothing_else(client, workspace):
    path = address(workspace, "/documents?wait_for=christmas")
    response = client.post(path, {"path": "a.md", "text": "a"}, format="json")

    assert (response.status_code, response.json()["errors"][0]["field"]) == (400, "wait_for")


def test_the_same_key_uploads_once(client, workspace):
    headers = {"Idempotency-Key": "k1"}
    first = post_text(client, workspace, headers=headers)
    again = post_text(client, workspace, headers=headers)

    assert first.status_code == again.status_code == 202
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.json()["job"]["id"] == first.json()["job"]["id"]
    assert again.headers["Location"] == first.headers["Location"]
    assert Job.objects.count() == 1
    assert post_text(client, workspace, "other.md", headers=headers).status_code == 422


@pytest.fixture
def small_limit(settings):
    settings.KEBAB_UPLOAD_LIMIT_BYTES = settings.KEBAB_ARCHIVE_LIMIT_BYTES = 1_000


def test_a_file_over_the_limit_is_refused_while_it_is_read(client, workspace, small_limit):
    response = post_file(client, workspace, b"x" * 1_001)

    assert (response.status_code, response.json()["code"]) == (413, "too_large")
    assert "1000 bytes" in response.json()["detail"]
    assert post_file(client, workspace, b"x" * 1_000).status_code == 202


@pytest.fixture
def begun(monkeypatch):
    """The files on disk that forms have begun."""
    files = []
    begin = UploadLimit.new_file

    def new_file(limit, *args, **kwargs):
        begin(limit, *args, **kwargs)
        files.append(limit.file.file)

    monkeypatch.setattr(UploadLimit, "new_file", new_file)
    return files


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(
            b'; name="file"; filename="a.md"\r\n\r\nText\r\n--x\r\n'
            b'Content-Disposition: form-data; name="title"\r\n\r\na\0b\r\n--x--\r\n',
            id="unstorable-title",
        ),
        pytest.param(
            b'; name="file"; filename="a.md"\r\nContent-Transfer-Encoding: base64\r\n\r\nVGV4d\r\n--x--\r\n',
            id="broken-base64",
        ),
        pytest.param(b'; name="file"; filename="a.md"\r\n\r\n' + 300_000 * b"a", id="too-large"),
    ],
)
def test_of_a_form_that_is_refused_no_file_stays_open(client, workspace, begun, small_limit, form):
    body = b"--x\r\nContent-Disposition: form-data" + form
    answer = client.generic(
        "POST", address(workspace, "/documents"), body, content_type="multipart/form-data; boundary=x"
    )
    assert answer.status_code in (400, 413), answer.content
    assert [file.closed for file in begun] == [True]


def test_a_form_over_the_limit_is_refused_before_it_is_read(client, workspace, small_limit, monkeypatch):
    def read(*_, **__):
        raise AssertionError("it was read")

    monkeypatch.setattr("kebab.api.parsers.StrictMultiPartParser.parse", read)
    response = post_file(client, workspace, b"x" * 1_100_000)

    assert (response.status_code, response.json()["code"]) == (413, "too_large")
    assert "1000 bytes" in response.json()["detail"]


def test_text_over_the_limit_is_refused(client, workspace, small_limit):
    for text in ("x" * 1_001, "ü" * 501, "x" * 1_100_000):
        response = post_text(client, workspace, text=text)
        assert (response.status_code, response.json()["code"]) == (413, "too_large")
    assert post_text(client, workspace, text="ü" * 500).status_code == 202


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("text", ""),
        ("text", None),
        ("path", ""),
        ("title", "x" * 501),
        ("tags", "x"),
        ("tags", ["x" * 101]),
        ("tags", [str(number) for number in range(101)]),
        ("lang", "not a language"),
        ("trust_level", "best"),
        ("metadata", []),
        ("metadata", '{"a": 1}'),
        ("metadata", {"a": "x" * 30_000}),
        ("source", "No Slug"),
        ("version", "x" * 201),
        ("text", "a\u0000b"),
    ],
)
def test_a_wrong_field_is_refused_by_its_name(client, workspace, field, value):
    body = {"path": "a.md", "text": "a", field: value}
    response = client.post(address(workspace, "/documents"), body, format="json")

    assert response.status_code == 400
    assert response.json()["errors"][0]["field"].startswith(field)


@pytest.mark.parametrize("metadata", ["[1]", "{", '{"a": NaN}', '{"a": 1, "a": 2}'])
def test_metadata_in_a_form_is_one_strict_json_object(client, workspace, metadata):
    response = post_file(client, workspace, metadata=metadata)

    assert (response.status_code, response.json()["errors"][0]["field"]) == (400, "metadata")


@pytest.mark.parametrize("fields", [{"x": "1"}, {"text": "a"}])
def test_unknown_fields_are_refused(client, workspace, fields):
    response = post_file(client, workspace, **fields)

    assert (response.status_code, response.json()["code"]) == (400, "unknown_field")
    assert post_text(client, workspace, file="a").json()["code"] == "unknown_field"


def test_a_field_given_twice_in_a_form_is_refused(client, workspace):
    response = post_file(client, workspace, path=["a.md", "b.md"])

    assert (response.status_code, response.json()["errors"][0]["field"]) == (400, "path")


def test_a_form_without_a_file_is_refused(client, workspace):
    response = client.post(address(workspace, "/documents"), {"path": "a.md"}, format="multipart")

    assert (response.status_code, response.json()["errors"][0]["field"]) == (400, "file")


def test_uploads_may_go_to_a_source_by_its_id(client, workspace):
    upload(client, workspace, source="handbook")
    source = Source.objects.in_workspace(workspace).get(key="handbook")

    assert post_text(client, workspace, source=str(source.pk)).json()["document"]["source"] == "handbook"
    response = post_text(client, workspace, source=str(workspace.pk))
    assert (response.status_code, response.json()["code"]) == (422, "unknown_source")


def test_a_folder_takes_no_uploads(client, workspace, tmp_path, settings):
    root = folder(settings, tmp_path, a_md="# A\n")
    body = {"key": "handbook", "kind": "folder", "config": {"path": str(root)}}
    assert client.post(address(workspace, "/sources"), body, format="json").status_code == 201
    response = post_text(client, workspace, source="handbook")

    assert (response.status_code, response.json()["code"]) == (409, "source_mismatch")


def test_people_upload_with_their_session(workspace):
    assert post_text(member_client(workspace, Role.EDITOR), workspace).status_code == 202
    assert post_file(member_client(workspace, Role.EDITOR), workspace).status_code == 202


def test_readers_do_not_upload(reader, workspace):
    for caller in (reader, member_client(workspace, Role.VIEWER), token_client(workspace, "manage")):
        response = post_text(caller, workspace)
        assert (response.status_code, response.json()["code"]) == (403, "forbidden")


def test_a_body_of_another_kind_is_refused(client, workspace):
    response = client.post(address(workspace, "/documents"), b"a: 1", content_type="text/yaml")

    assert response.status_code == 415
    assert client.post(address(workspace, "/documents"), [1], format="json").status_code == 400
