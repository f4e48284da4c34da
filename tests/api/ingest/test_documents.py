"""Uploads of documents over HTTP, and waiting until they are searchable."""

import io
import threading

import pytest
from django.db import connection

from ingest.api.documents.serializers import UploadLimit
from ingest.jobs.queue.request import cancel
from ingest.models import Job
from kebab.tenancy.current_workspace import acting_everywhere
from search.corpus.blobs import read_blob
from search.models import Document, Source
from tests.api.refusals import refusal_of
from tests.support.actors import Role, member_client, token_client
from tests.support.api import MARKDOWN, address, folder, post_text, run, run_to_end, upload

pytestmark = pytest.mark.django_db(transaction=True)

CONTENT = MARKDOWN.encode()


def post_file(
    client, workspace, content=CONTENT, *, tail="/documents", name="install.md", headers=None, **fields
):
    body = {"file": io.BytesIO(content), **fields}
    body["file"].name = name
    path = address(workspace, tail)
    return client.post(path, body, format="multipart", headers=headers or {})


@pytest.fixture
def worker(workspace):
    """Return a function that starts a thread that acts on the next due job as a worker would."""
    threads = []

    def start(act):
        @acting_everywhere()
        def work():
            uploads = Job.objects.in_workspace(workspace).filter(kind="ingest_document")
            try:
                while not stop.wait(0.01):
                    if job := uploads.due().first():
                        act(job)
                        break
            finally:
                connection.close()

        threads.append(threading.Thread(target=work))
        threads[-1].start()

    stop = threading.Event()
    yield start
    stop.set()
    for thread in threads:
        thread.join()


def test_upload_becomes_a_job_and_then_a_document(client, workspace):
    response = post_text(client, workspace)
    body = response.json()
    document_path = address(workspace, f"/documents/{body['document']['id']}")

    assert response.status_code == 202
    assert body["document"]["path"] == "guides/install.md"
    assert (body["document"]["source"], body["document"]["version"]) == ("uploads", None)
    assert (body["job"]["kind"], body["job"]["state"]) == ("ingest_document", "queued")
    assert (body["job"]["source"], body["job"]["path"]) == ("uploads", "guides/install.md")
    assert body["seq"] is None
    assert client.get(response.headers["Location"]).json()["id"] == body["job"]["id"]
    assert client.get(document_path).status_code == 404

    assert run(workspace, response).state == "succeeded"
    document = client.get(document_path).json()
    shown = (document["path"], document["title"], document["chunk_count"])
    assert shown == ("guides/install.md", "Install", 1)


def test_fields_of_the_upload_override_parsed_values(client, workspace):
    stated = {
        "title": "Stated",
        "tags": ["b", "a", "b"],
        "lang": "pt-BR",
        "trust_level": "primary",
        "metadata": {"team": {"name": "docs"}},
    }
    doc_id = upload(client, workspace, source="handbook", version="2.0", **stated)
    document = client.get(address(workspace, f"/documents/{doc_id}")).json()

    expected = {**stated, "tags": ["b", "a"], "source": "handbook", "version": "2.0"}
    metadata = expected.pop("metadata")
    assert {name: document[name] for name in expected} == expected
    assert document["metadata"]["team"] == metadata["team"]
    chunks = client.get(address(workspace, f"/documents/{doc_id}/chunks")).json()["results"]
    assert all(chunk["breadcrumb"].startswith("Stated") for chunk in chunks)


def test_form_has_the_same_fields_as_json(client, workspace):
    stated = {"path": "a/b.md", "title": "Stated", "tags": ["x", "y"], "lang": "de"}
    stated |= {"trust_level": "secondary", "source": "handbook", "version": "3"}
    response = post_file(client, workspace, metadata='{"n": 1}', **stated)
    assert response.status_code == 202, response.content
    run(workspace, response)
    document = client.get(address(workspace, f"/documents/{response.json()['document']['id']}")).json()

    assert {name: document[name] for name in stated} == stated
    assert document["metadata"]["n"] == 1


def test_file_without_a_path_is_stored_under_its_name(client, workspace):
    response = post_file(client, workspace, name="Über uns.md")
    assert response.json()["document"]["path"] == "Über uns.md"
    assert read_blob(workspace.pk, Job.objects.get().payload["blob"]) == CONTENT
    composed = post_text(client, workspace, "cafe\u0301.md")
    assert composed.json()["document"]["path"] == "caf\u00e9.md"


def test_document_of_the_same_path_is_replaced(client, workspace):
    first = upload(client, workspace, text="# Old\n\nold words\n")
    second = upload(client, workspace, text="# New\n\nnew words\n")
    assert first == second
    assert Document.objects.in_workspace(workspace).get().title == "New"


def test_waiting_ends_when_the_document_is_searchable(client, workspace, worker):
    worker(run_to_end)
    response = post_text(client, workspace, text="# T\n\nzebrafish\n", wait=True)
    body = response.json()

    assert response.status_code == 201, response.content
    assert body["seq"] == body["job"]["seq"] > 0
    assert body["job"]["state"] == "succeeded"
    assert client.get(response.headers["Location"]).json()["id"] == body["document"]["id"]
    hits = client.get(address(workspace, "/search"), {"q": "zebrafish", "mode": "lexical"}).json()["hits"]
    assert [hit["doc_id"] for hit in hits] == [body["document"]["id"]]


def test_upload_wait_past_its_limit_is_answered_202(client, workspace, settings):
    settings.KEBAB_WAIT_LIMIT_S = 0.02
    response = post_text(client, workspace, wait=True)
    assert response.status_code == 202
    assert (response.json()["seq"], response.json()["job"]["state"]) == (None, "queued")


def test_finished_upload_without_a_synced_mirror_is_answered_202(client, workspace, worker, monkeypatch):
    from search.mirror import local_mirrors
    from search.retrieval.errors import NotSearchableYet

    def late(*_, **__):
        raise NotSearchableYet("late")

    monkeypatch.setattr(local_mirrors, "wait_for_seq", late)
    worker(run_to_end)
    response = post_text(client, workspace, wait=True)
    assert (response.status_code, response.json()["seq"]) == (202, None)


def test_waiting_for_an_unreadable_or_cancelled_upload_is_refused(client, workspace, worker):
    worker(run_to_end)
    response = client.post(
        address(workspace, "/documents?wait_for=searchable"),
        {"file": io.BytesIO(b"\x00\x01\x02\xff" * 200), "path": "plan.pub"},
        format="multipart",
    )
    assert refusal_of(response) == (422, "not_ingested", None)
    assert all(word in response.json()["detail"] for word in ("plan.pub", "closed_format", "as PDF"))

    worker(cancel)
    assert refusal_of(post_text(client, workspace, wait=True)) == (422, "not_ingested", None)


def test_upload_with_an_idempotency_key_is_done_once(client, workspace):
    headers = {"Idempotency-Key": "k1"}
    first = post_text(client, workspace, headers=headers)
    again = post_text(client, workspace, headers=headers)

    assert first.status_code == again.status_code == 202
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.json()["job"]["id"] == first.json()["job"]["id"]
    assert again.headers["Location"] == first.headers["Location"]
    assert Job.objects.count() == 1
    assert post_text(client, workspace, "other.md", headers=headers).status_code == 422

    forms = [post_file(client, workspace, headers={"Idempotency-Key": "k2"}) for _ in range(2)]
    assert forms[0].json()["job"]["id"] == forms[1].json()["job"]["id"]
    other = post_file(client, workspace, b"# Other", headers={"Idempotency-Key": "k2"})
    assert other.status_code == 422


def test_file_endpoint_accepts_multipart_forms_only(client, workspace):
    place, headers = "/documents/file", {"Idempotency-Key": "k1"}
    forms = [post_file(client, workspace, tail=place, headers=headers) for _ in range(2)]
    assert [form.status_code for form in forms] == [202, 202]
    assert forms[0].json()["document"]["path"] == "install.md"
    assert forms[1].headers["Idempotency-Replayed"] == "true"
    text = client.post(address(workspace, place), {"path": "a.md", "text": "a"}, format="json")
    assert text.status_code == 415


@pytest.fixture
def small_limit(settings):
    settings.KEBAB_UPLOAD_LIMIT_BYTES = settings.KEBAB_ARCHIVE_LIMIT_BYTES = 1_000


def test_upload_over_the_limit_is_refused(client, workspace, small_limit, monkeypatch):
    too_large = (413, "too_large", None)
    response = post_file(client, workspace, b"x" * 1_001)
    assert refusal_of(response) == too_large
    assert "1000" in response.json()["detail"]
    assert post_file(client, workspace, b"x" * 1_000).status_code == 202
    for text in ("x" * 1_001, "ü" * 501, "x" * 1_100_000):
        assert refusal_of(post_text(client, workspace, text=text)) == too_large
    assert post_text(client, workspace, text="ü" * 500).status_code == 202

    def read(*_, **__):
        raise AssertionError("it was read")

    monkeypatch.setattr("kebab.http.api.parsers.StrictMultiPartParser.parse", read)
    assert refusal_of(post_file(client, workspace, b"x" * 1_100_000)) == too_large


REFUSED_FORMS = {
    "unstorable title": b'; name="file"; filename="a.md"\r\n\r\nText\r\n--x\r\n'
    b'Content-Disposition: form-data; name="title"\r\n\r\na\0b\r\n--x--\r\n',
    "broken base64": b'; name="file"; filename="a.md"\r\nContent-Transfer-Encoding: base64\r\n\r\n'
    b"VGV4d\r\n--x--\r\n",
    "too large": b'; name="file"; filename="a.md"\r\n\r\n' + 300_000 * b"a",
}


def test_file_of_a_refused_form_is_closed(client, workspace, small_limit, monkeypatch, subtests):
    files = []
    begin = UploadLimit.new_file

    def new_file(limit, *args, **kwargs):
        begin(limit, *args, **kwargs)
        files.append(limit.file.file)

    monkeypatch.setattr(UploadLimit, "new_file", new_file)
    for name, form in REFUSED_FORMS.items():
        with subtests.test(name):
            files.clear()
            body = b"--x\r\nContent-Disposition: form-data" + form
            answer = client.generic(
                "POST", address(workspace, "/documents"), body, content_type="multipart/form-data; boundary=x"
            )
            assert answer.status_code in (400, 413), answer.content
            assert [file.closed for file in files] == [True]


WRONG_FIELDS = [
    ("text", "", "text"),
    ("text", None, "text"),
    ("text", "a\u0000b", "text"),
    ("path", "", "path"),
    ("title", "x" * 501, "title"),
    ("tags", "x", "tags"),
    ("tags", ["x" * 101], "tags[0]"),
    ("tags", [str(number) for number in range(101)], "tags"),
    ("lang", "not a language", "lang"),
    ("trust_level", "best", "trust_level"),
    ("metadata", [], "metadata"),
    ("metadata", '{"a": 1}', "metadata"),
    ("metadata", {"a": "x" * 30_000}, "metadata"),
    ("source", "No Slug", "source"),
    ("version", "x" * 201, "version"),
]
WRONG_FORMS = [
    *(({"metadata": text}, "metadata") for text in ("[1]", "{", '{"a": NaN}', '{"a": 1, "a": 2}')),
    ({"path": ["a.md", "b.md"]}, "path"),
]


def test_wrong_upload_is_refused_by_its_field(client, workspace, subtests):
    path = address(workspace, "/documents")
    for name, value, field in WRONG_FIELDS:
        with subtests.test(name=name, value=str(value)[:20]):
            response = client.post(path, {"path": "a.md", "text": "a", name: value}, format="json")
            assert refusal_of(response) == (400, "invalid_request", field)
    for fields, field in WRONG_FORMS:
        with subtests.test(fields=fields):
            assert refusal_of(post_file(client, workspace, **fields)) == (400, "invalid_request", field)
    without_file = client.post(path, {"path": "a.md"}, format="multipart")
    assert refusal_of(without_file) == (400, "invalid_request", "file")
    for field in ("x", "text"):
        assert refusal_of(post_file(client, workspace, **{field: "a"})) == (400, "unknown_field", field)
    assert refusal_of(post_text(client, workspace, file="a")) == (400, "unknown_field", "file")
    never = client.post(f"{path}?wait_for=christmas", {"path": "a.md", "text": "a"}, format="json")
    assert refusal_of(never) == (400, "invalid_request", "wait_for")
    assert client.post(path, b"a: 1", content_type="text/yaml").status_code == 415
    assert client.post(path, [1], format="json").status_code == 400
    for wrong in ("/etc/passwd", "../a.md", "a/../b.md", "a\nb.md", "a\\b.md", "a//b.md"):
        with subtests.test(path=wrong):
            assert refusal_of(post_text(client, workspace, wrong))[:2] == (422, "invalid_path")
    assert not Job.objects.exists()


def test_upload_names_its_source_by_key_or_id(client, workspace, tmp_path, settings):
    upload(client, workspace, source="handbook")
    source = Source.objects.in_workspace(workspace).get(key="handbook")
    assert post_text(client, workspace, source=str(source.pk)).json()["document"]["source"] == "handbook"
    unknown = post_text(client, workspace, source=str(workspace.pk))
    assert refusal_of(unknown) == (422, "unknown_source", None)

    root = folder(settings, tmp_path, a_md="# A\n")
    body = {"key": "files", "kind": "folder", "config": {"path": str(root)}}
    assert client.post(address(workspace, "/sources"), body, format="json").status_code == 201
    assert refusal_of(post_text(client, workspace, source="files")) == (409, "source_mismatch", None)


def test_editors_upload_and_readers_do_not(reader, workspace):
    editor = member_client(workspace, Role.EDITOR)
    assert post_text(editor, workspace).status_code == post_file(editor, workspace).status_code == 202
    for caller in (reader, member_client(workspace, Role.VIEWER), token_client(workspace, "manage")):
        assert refusal_of(post_text(caller, workspace)) == (403, "forbidden", None)


def test_uploads_of_one_batch_belong_to_its_first_job(client, workspace):
    first = post_file(client, workspace).json()["job"]["id"]
    second = post_file(client, workspace, name="b.md", batch=first).json()["job"]["id"]
    assert str(Job.objects.get(pk=second).batch) == first

    stranger = token_client(workspace, "ingest")
    refused = [
        post_file(client, workspace, name="c.md", batch=second),
        post_file(client, workspace, name="c.md", batch=first, source="others"),
        post_file(stranger, workspace, name="c.md", batch=first),
    ]
    for answer in refused:
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "batch")
