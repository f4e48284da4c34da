"""Uploading archives over HTTP: one job, an item for each member."""

import io
import random
import threading

import pytest

from ingest import waiting
from ingest.jobs import archive as archive_jobs
from ingest.jobs.lease import LeaseKeeper
from ingest.jobs.request import cancel, retry
from ingest.models import Job, JobItem
from search import blobs
from search.blobs import has_blob
from search.corpus import ensure_source
from search.models import Document, Source
from tests.support.api import address, run, run_to_end, upload
from tests.support.schemas import validate
from tests.unit.ingest.packing import TARS, overlapping_zip, tarred, zipped

pytestmark = pytest.mark.django_db(transaction=True)

FILES = {"README.md": "# Read me\n\nAll about it.\n", "guide/install.md": "# Install\n\nRun it.\n"}
NOISE = random.Random(1).randbytes(5_000)


def post_archive(client, workspace, content, name="docs.zip", *, tail="/documents", headers=None, **fields):
    file = io.BytesIO(content)
    file.name = name
    body = {"file": file, **fields}
    return client.post(address(workspace, tail), body, format="multipart", headers=headers or {})


def paths(workspace):
    return sorted(Document.objects.in_workspace(workspace).values_list("path", flat=True))


def report_of(client, workspace, job):
    report = client.get(address(workspace, f"/jobs/{job.pk}")).json()["report"]
    validate("ingest_report.v1", report)
    return report


def test_an_archive_is_one_job_with_an_item_for_each_member(client, workspace):
    answer = post_archive(client, workspace, zipped({**FILES, "node_modules/x.md": "x", "../out.md": "x"}))
    body = answer.json()

    assert (answer.status_code, body["document"]) == (202, None)
    assert (body["job"]["kind"], body["job"]["path"]) == ("ingest_archive", "docs.zip")
    job = run(workspace, answer)

    assert (job.state, job.items_total, job.items_done) == ("succeeded", 2, 2)
    assert paths(workspace) == ["docs/README.md", "docs/guide/install.md"]
    report = report_of(client, workspace, job)
    assert (report["seen"], report["new"], report["skipped"]) == (4, 2, 2)
    assert report["skipped_by_reason"] == {"skipped_directory": 1, "path_outside": 1}
    assert report["examples"]["path_outside"] == ["docs/../out.md"]
    items = client.get(address(workspace, f"/jobs/{job.pk}/items")).json()["results"]
    assert {(item["path"], item["outcome"]) for item in items} == {(path, "new") for path in paths(workspace)}


@pytest.mark.parametrize("name", TARS)
def test_tars_are_unpacked_too(client, workspace, name):
    run(workspace, post_archive(client, workspace, tarred(FILES, TARS[name]), name))
    assert paths(workspace) == ["docs/README.md", "docs/guide/install.md"]


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"path": "handbook/v2"}, "handbook/v2/README.md"),
        ({"path": "handbook/v2.zip"}, "handbook/v2/README.md"),
        ({"unpack": "root"}, "README.md"),
        ({"unpack": "folder"}, "docs/README.md"),
    ],
)
def test_its_documents_go_where_the_upload_says(client, workspace, fields, found):
    run(workspace, post_archive(client, workspace, zipped({"README.md": "# Read\n"}), **fields))
    assert paths(workspace) == [found]


def test_what_is_stated_holds_for_every_document(client, workspace):
    stated = {"tags": ["x"], "lang": "de", "trust_level": "primary", "metadata": '{"n": 1}'}
    run(workspace, post_archive(client, workspace, zipped(FILES), source="books", version="2", **stated))
    found = Document.objects.in_workspace(workspace).select_related("source", "version")
    assert {(d.source.key, d.version.tag, d.lang, d.trust_level) for d in found} == {
        ("books", "2", "de", "primary")
    }
    assert [(document.tags, document.metadata["n"]) for document in found] == [(["x"], 1)] * 2


@pytest.mark.parametrize(
    ("name", "fields", "wrong"),
    [
        ("docs.zip", {"title": "One"}, "title"),
        ("docs.zip", {"path": "a", "unpack": "root"}, "path"),
        ("docs.zip", {"unpack": "twice"}, "unpack"),
        ("docs.md", {"unpack": "root"}, "unpack"),
    ],
)
def test_what_says_nothing_here_is_refused_by_its_name(client, workspace, name, fields, wrong):
    answer = post_archive(client, workspace, zipped(FILES), name, **fields)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, wrong)
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("content", "name", "code"),
    [
        (b"no archive", "docs.zip", "archive_broken"),
        (zipped(FILES)[:-30], "docs.zip", "archive_broken"),
        (overlapping_zip(5), "docs.zip", "archive_refused"),
        (zipped({"zeros.md": bytes(30_000_000)}), "docs.zip", "archive_over_limit"),
        (b"7z\xbc\xaf'\x1c", "docs.7z", "archive_refused"),
    ],
)
def test_a_bad_archive_is_refused_at_once(client, workspace, content, name, code):
    answer = post_archive(client, workspace, content, name)
    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert not Job.objects.exists()
    assert not Source.objects.exists()


def test_a_name_that_no_document_may_have_is_refused(client, workspace):
    answer = post_archive(client, workspace, zipped(FILES), path="../docs")
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_path")


def test_a_bomb_that_only_shows_when_it_is_unpacked_fails_its_job(client, workspace):
    answer = post_archive(client, workspace, tarred({"zeros.md": bytes(30_000_000)}, "w:gz"), "docs.tgz")
    job = run(workspace, answer)
    assert (job.state, job.error[:34]) == ("failed", "Nothing of the archive was ingeste")
    assert "200 times" in job.error
    assert paths(workspace) == []


@pytest.fixture
def worker(workspace, monkeypatch):
    """Works off what is due whenever somebody waits for it."""

    def work(_):
        for job in Job.objects.in_workspace(workspace).filter(kind="ingest_archive").due():
            run_to_end(job)

    monkeypatch.setattr(waiting.time, "sleep", work)


def test_who_waits_is_answered_once_the_documents_are_found(client, workspace, worker):
    packed = zipped({**FILES, "b.bin": NOISE})
    answer = post_archive(client, workspace, packed, tail="/documents?wait_for=searchable")
    assert (answer.status_code, answer.json()["job"]["state"]) == (201, "succeeded")
    assert answer.json()["seq"] > 0
    assert client.get(answer.headers["Location"]).json()["report"]["new"] == 2


def test_who_waits_is_told_why_an_archive_failed(client, workspace, worker):
    bomb = tarred({"zeros.md": bytes(30_000_000)}, "w:gz")
    answer = post_archive(client, workspace, bomb, "docs.tgz", tail="/documents?wait_for=searchable")
    assert (answer.status_code, answer.json()["code"]) == (422, "not_ingested")
    assert "docs.tgz" in answer.json()["detail"]
    assert "200 times" in answer.json()["detail"]


def test_the_limit_of_archives_is_their_own(client, workspace, settings):
    settings.KEBAB_UPLOAD_LIMIT_BYTES = 1_000
    settings.KEBAB_ARCHIVE_LIMIT_BYTES = 100_000
    noise = random.Random(1).randbytes(50_000)
    assert post_archive(client, workspace, zipped({"a.md": noise})).status_code == 202
    assert post_archive(client, workspace, noise, "a.md").status_code == 413
    too_large = post_archive(client, workspace, zipped({"a.md": noise * 3}))
    assert (too_large.status_code, too_large.json()["code"]) == (413, "too_large")
    assert "100000" in too_large.json()["detail"]


def test_the_same_key_for_retries_makes_one_job(client, workspace):
    headers = {"Idempotency-Key": "k"}
    packed = zipped(FILES)
    answers = [post_archive(client, workspace, packed, headers=headers) for _ in range(2)]
    assert answers[0].json()["job"]["id"] == answers[1].json()["job"]["id"]
    assert answers[1].headers["Idempotency-Replayed"] == "true"


def test_the_same_archive_again_changes_nothing(client, workspace):
    run(workspace, post_archive(client, workspace, zipped(FILES)))
    job = run(workspace, post_archive(client, workspace, zipped(FILES)))
    report = report_of(client, workspace, job)
    assert (report["unchanged"], report["new"], report["parser_calls"]) == (2, 0, 0)


def test_bytes_that_nothing_needs_any_more_go_with_the_end_of_the_job(client, workspace):
    answer = post_archive(client, workspace, zipped({"a.md": "# A\n", "b.bin": NOISE}))
    job = run(workspace, answer)
    blobs = dict(JobItem.objects.filter(job=job).values_list("path", "blob"))
    assert report_of(client, workspace, job)["skipped_by_reason"] == {"no_parser": 1}
    assert has_blob(workspace.pk, blobs["docs/a.md"])
    assert not has_blob(workspace.pk, blobs["docs/b.bin"])
    assert not has_blob(workspace.pk, job.payload["blob"])


def test_a_broken_member_fails_alone(client, workspace):
    packed = bytearray(zipped({"a.md": "# A\n" * 50, "b.md": "# B\n"}, 0))
    packed[60] ^= 1
    job = run(workspace, post_archive(client, workspace, bytes(packed)))
    report = report_of(client, workspace, job)
    assert (report["new"], report["failed_by_reason"]) == (1, {"broken_member": 1})


def test_a_retry_runs_the_members_that_failed(client, workspace):
    job = run(workspace, post_archive(client, workspace, zipped(FILES)))
    failed = JobItem.objects.filter(job=job, path="docs/README.md")
    failed.update(state="failed", outcome="failed", reason="quarantined")
    again = run_to_end(retry(job))
    assert (again.kind, again.state, again.items_total) == ("ingest_archive", "succeeded", 1)
    assert list(JobItem.objects.filter(job=again).values_list("path", flat=True)) == ["docs/README.md"]


def test_an_archive_that_was_cancelled_can_be_retried(client, workspace):
    answer = post_archive(client, workspace, zipped(FILES))
    job = Job.objects.get(pk=answer.json()["job"]["id"])
    cancel(job)
    again = run_to_end(retry(Job.objects.get(pk=job.pk)))
    assert (again.state, paths(workspace)) == ("succeeded", ["docs/README.md", "docs/guide/install.md"])


def test_cancelling_while_it_is_unpacked_ends_it(client, workspace, monkeypatch):
    monkeypatch.setattr(archive_jobs, "_BATCH_MEMBERS", 1)
    keep = archive_jobs._keep

    def keep_and_cancel(work, batch):
        keep(work, batch)
        if batch:
            work.keeper._cancelled.set()

    monkeypatch.setattr(archive_jobs, "_keep", keep_and_cancel)
    job = run(workspace, post_archive(client, workspace, zipped(FILES)))
    assert (job.state, paths(workspace)) == ("cancelled", [])
    blob = JobItem.objects.filter(job=job).values_list("blob", flat=True).first()
    assert not has_blob(workspace.pk, blob)


@pytest.mark.parametrize("n_openings", [1, 2])
def test_cancelling_is_seen_between_two_members_that_are_looked_at(
    client, workspace, monkeypatch, n_openings
):
    openings = []
    open_archive = archive_jobs.open_archive

    def open_counted(*arguments):
        openings.append(arguments)
        return open_archive(*arguments)

    answer = post_archive(client, workspace, zipped(FILES))
    monkeypatch.setattr(archive_jobs, "open_archive", open_counted)
    monkeypatch.setattr(LeaseKeeper, "is_cancelled", property(lambda _: len(openings) >= n_openings))
    job = run(workspace, answer)
    assert (job.state, len(openings)) == ("cancelled", n_openings)
    assert not JobItem.objects.filter(job=job).exists()


def test_members_come_to_the_disk_side_by_side(client, workspace, monkeypatch):
    answer = post_archive(client, workspace, zipped(FILES))
    both_write = threading.Barrier(len(FILES), timeout=30)
    write = blobs._write_file

    def write_together(*arguments):
        both_write.wait()
        write(*arguments)

    monkeypatch.setattr(blobs, "_write_file", write_together)
    assert run(workspace, answer).state == "succeeded"


def test_a_job_that_was_interrupted_begins_its_unpacking_anew(client, workspace, monkeypatch):
    monkeypatch.setattr(archive_jobs, "_BATCH_MEMBERS", 1)
    monkeypatch.setattr(archive_jobs, "_note_listing", lambda *_: 1 / 0)
    answer = post_archive(client, workspace, zipped(FILES))
    job = run(workspace, answer)
    assert (job.state, JobItem.objects.filter(job=job).count()) == ("running", 2)
    monkeypatch.undo()
    Job.objects.filter(pk=job.pk).update(due_at=job.created_at)
    job = run_to_end(job)
    assert (job.state, job.items_total, paths(workspace)) == (
        "succeeded",
        2,
        ["docs/README.md", "docs/guide/install.md"],
    )


def test_a_document_that_is_deleted_does_not_come_back_out_of_a_waiting_archive(client, workspace):
    doc_id = upload(client, workspace, "docs/README.md")
    answer = post_archive(client, workspace, zipped(FILES))
    job = Job.objects.get(pk=answer.json()["job"]["id"])
    JobItem.objects.create(
        workspace=workspace, job=job, path="docs/README.md", action="ingest", blob="0" * 64
    )
    assert client.delete(address(workspace, f"/documents/{doc_id}")).status_code == 204
    assert JobItem.objects.get(job=job).action == "delete"


def test_members_bytes_are_kept_while_their_job_is_open(client, workspace):
    content = "# Shared\n\nBoth have it.\n"
    doc_id = upload(client, workspace, "own.md", text=content)
    area = ensure_source(workspace, "uploads", kind="upload")
    job = Job.objects.create(
        workspace=workspace, kind="ingest_archive", source=area, payload={"blob": "0" * 64}
    )
    blob = Document.objects.get().content_hash
    JobItem.objects.create(workspace=workspace, job=job, path="docs/a.md", action="ingest", blob=blob)
    client.delete(address(workspace, f"/documents/{doc_id}"))
    assert has_blob(workspace.pk, blob)


def test_deleting_the_source_takes_the_bytes_of_its_archives_along(client, workspace):
    answer = post_archive(client, workspace, zipped(FILES))
    job = Job.objects.get(pk=answer.json()["job"]["id"])
    cancel(job)
    assert has_blob(workspace.pk, job.payload["blob"])
    source = Source.objects.get()
    run(workspace, client.delete(address(workspace, f"/sources/{source.pk}")))
    assert not has_blob(workspace.pk, job.payload["blob"])
