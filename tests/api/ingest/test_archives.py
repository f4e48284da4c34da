"""Uploads of archives over HTTP: one job, an item for each member."""

import random
import threading

import pytest

from ingest.jobs.kinds import archive as archive_jobs
from ingest.jobs.queue.lease import LeaseKeeper
from ingest.jobs.queue.request import cancel
from ingest.jobs.queue.schedule import retry
from ingest.models import Job, JobItem
from ingest.services import jobs as job_wait
from search.corpus import blobs, ensure_source
from search.corpus.blobs import has_blob
from search.models import Document, Source
from tests.api.archives import post_archive, report_of
from tests.api.refusals import refusal_of
from tests.security.hostile_files.corpus import ARCHIVES
from tests.support.api import address, run, run_to_end, upload
from tests.support.archives import TARS, overlapping_zip, tar_of, zip_of

pytestmark = pytest.mark.django_db(transaction=True)

FILES = {"README.md": "# Read me\n\nAll about it.\n", "guide/install.md": "# Install\n\nRun it.\n"}
PATHS = ["docs/README.md", "docs/guide/install.md"]
NOISE = random.Random(1).randbytes(5_000)
SKIPPED = {
    "hostile.zip": {
        "nested_archive": 1,
        "empty": 1,
        "no_parser": 1,
        "path_outside": 1,
        "control_character_in_name": 2,
    },
    "hostile.tar": {
        "path_too_long": 1,
        "undecodable_name": 1,
        "link": 4,
        "special_file": 2,
        "path_outside": 2,
        "control_character_in_name": 1,
    },
}


def paths(workspace):
    return sorted(Document.objects.in_workspace(workspace).values_list("path", flat=True))


def bomb():
    return tar_of({"zeros.md": bytes(30_000_000)}, "w:gz")


def test_archive_is_one_job_with_an_item_for_each_member(client, workspace):
    answer = post_archive(client, workspace, zip_of({**FILES, "node_modules/x.md": "x", "../out.md": "x"}))
    body = answer.json()

    assert (answer.status_code, body["document"]) == (202, None)
    assert (body["job"]["kind"], body["job"]["path"]) == ("ingest_archive", "docs.zip")
    job = run(workspace, answer)

    assert (job.state, job.items_total, job.items_done) == ("succeeded", 2, 2)
    assert paths(workspace) == PATHS
    report = report_of(client, workspace, job)
    assert (report["seen"], report["new"], report["skipped"]) == (4, 2, 2)
    assert report["skipped_by_reason"] == {"skipped_directory": 1, "path_outside": 1}
    assert report["examples"]["path_outside"] == ["docs/../out.md"]
    items = client.get(address(workspace, f"/jobs/{job.pk}/items")).json()["results"]
    assert {(item["path"], item["outcome"]) for item in items} == {(path, "new") for path in PATHS}

    again = run(workspace, post_archive(client, workspace, zip_of(FILES)))
    report = report_of(client, workspace, again)
    assert (report["unchanged"], report["new"], report["parser_calls"]) == (2, 0, 0)


def test_tars_of_every_kind_are_unpacked(client, workspace, subtests):
    for name, mode in TARS.items():
        with subtests.test(name):
            Document.objects.all().delete()
            run(workspace, post_archive(client, workspace, tar_of(FILES, mode), name))
            assert paths(workspace) == PATHS


def test_path_and_unpack_fields_set_the_paths_of_members(client, workspace, subtests):
    for fields, found in (
        ({"path": "handbook/v2"}, "handbook/v2/README.md"),
        ({"path": "handbook/v2.zip"}, "handbook/v2/README.md"),
        ({"unpack": "root"}, "README.md"),
        ({"unpack": "folder"}, "docs/README.md"),
    ):
        with subtests.test(fields=fields):
            Document.objects.all().delete()
            run(workspace, post_archive(client, workspace, zip_of({"README.md": "# Read\n"}), **fields))
            assert paths(workspace) == [found]


def test_fields_of_the_upload_apply_to_every_member(client, workspace):
    stated = {"tags": ["x"], "lang": "de", "trust_level": "primary", "metadata": '{"n": 1}'}
    run(workspace, post_archive(client, workspace, zip_of(FILES), source="books", version="2", **stated))
    found = Document.objects.in_workspace(workspace).select_related("source", "version")
    assert [(d.source.key, d.version.tag, d.lang, d.trust_level, d.tags, d.metadata["n"]) for d in found] == [
        ("books", "2", "de", "primary", ["x"], 1)
    ] * 2


def test_wrong_archive_is_refused_at_once(client, workspace, settings, subtests):
    packed = zip_of(FILES)
    for content, name, fields, expected in (
        (packed, "docs.zip", {"title": "One"}, (400, "invalid_request", "title")),
        (packed, "docs.zip", {"path": "a", "unpack": "root"}, (400, "invalid_request", "path")),
        (packed, "docs.zip", {"unpack": "twice"}, (400, "invalid_request", "unpack")),
        (packed, "docs.md", {"unpack": "root"}, (400, "invalid_request", "unpack")),
        (packed, "docs.zip", {"path": "../docs"}, (422, "invalid_path", None)),
        (b"no archive", "docs.zip", {}, (422, "archive_broken", None)),
        (packed[:-30], "docs.zip", {}, (422, "archive_broken", None)),
        (overlapping_zip(5), "docs.zip", {}, (422, "archive_refused", None)),
        (zip_of({"zeros.md": bytes(30_000_000)}), "docs.zip", {}, (422, "archive_over_limit", None)),
        (b"7z\xbc\xaf'\x1c", "docs.7z", {}, (422, "archive_refused", None)),
        *((b"", f"nothing.{kind}", {}, (400, "invalid_request", "file")) for kind in ("zip", "tar", "docx")),
    ):
        with subtests.test(name=name, fields=fields, expected=expected):
            assert refusal_of(post_archive(client, workspace, content, name, **fields)) == expected
    assert not Job.objects.exists()
    assert not Source.objects.exists()

    settings.KEBAB_UPLOAD_LIMIT_BYTES = 1_000
    settings.KEBAB_ARCHIVE_LIMIT_BYTES = 100_000
    noise = random.Random(1).randbytes(50_000)
    assert post_archive(client, workspace, zip_of({"a.md": noise})).status_code == 202
    for answer in (
        post_archive(client, workspace, noise, "a.md"),
        post_archive(client, workspace, zip_of({"a.md": noise * 3})),
    ):
        assert refusal_of(answer) == (413, "too_large", None)


@pytest.mark.parametrize("name", SKIPPED)
def test_good_pages_of_a_hostile_archive_are_ingested(client, workspace, name):
    job = run(workspace, post_archive(client, workspace, ARCHIVES[name][0](), name, path="a"))
    assert job.counts["skipped"] == {**SKIPPED[name], "absolute_path": 1, "backslash_in_path": 1}
    assert set(paths(workspace)) == {"a/good.md", "a/" + "n" * 300 + ".md"}


def test_archive_bomb_found_while_unpacking_fails_the_job(client, workspace):
    job = run(workspace, post_archive(client, workspace, bomb(), "docs.tgz"))
    assert (job.state, paths(workspace)) == ("failed", [])
    assert "200" in job.error


@pytest.fixture
def worker(workspace, monkeypatch):
    """Run due jobs whenever a request waits for one."""

    def work(_):
        for job in Job.objects.in_workspace(workspace).filter(kind="ingest_archive").due():
            run_to_end(job)

    monkeypatch.setattr(job_wait.time, "sleep", work)


def test_waiting_ends_when_the_documents_are_searchable(client, workspace, worker):
    packed = zip_of({**FILES, "b.bin": NOISE})
    tail = "/documents?wait_for=searchable"
    answer = post_archive(client, workspace, packed, tail=tail)
    assert (answer.status_code, answer.json()["job"]["state"]) == (201, "succeeded")
    assert answer.json()["seq"] > 0
    assert client.get(answer.headers["Location"]).json()["report"]["new"] == 2

    failed = post_archive(client, workspace, bomb(), "docs.tgz", tail=tail)
    assert refusal_of(failed) == (422, "not_ingested", None)
    assert "docs.tgz" in failed.json()["detail"]


def test_bytes_of_archive_and_skipped_members_are_deleted_when_the_job_ends(client, workspace):
    answer = post_archive(client, workspace, zip_of({"a.md": "# A\n", "b.bin": NOISE}))
    job = run(workspace, answer)
    blob_of = dict(JobItem.objects.filter(job=job).values_list("path", "blob"))
    assert report_of(client, workspace, job)["skipped_by_reason"] == {"no_parser": 1}
    assert has_blob(workspace.pk, blob_of["docs/a.md"])
    assert not has_blob(workspace.pk, blob_of["docs/b.bin"])
    assert not has_blob(workspace.pk, job.payload["blob"])


def test_broken_member_fails_alone(client, workspace):
    packed = bytearray(zip_of({"a.md": "# A\n" * 50, "b.md": "# B\n"}, 0))
    packed[60] ^= 1
    job = run(workspace, post_archive(client, workspace, bytes(packed)))
    report = report_of(client, workspace, job)
    assert (report["new"], report["failed_by_reason"]) == (1, {"broken_member": 1})


def test_retry_runs_the_failed_members_or_a_cancelled_archive(client, workspace):
    answer = post_archive(client, workspace, zip_of(FILES))
    cancel(Job.objects.get(pk=answer.json()["job"]["id"]))
    job = run_to_end(retry(Job.objects.get(pk=answer.json()["job"]["id"])))
    assert (job.state, paths(workspace)) == ("succeeded", PATHS)

    failed = JobItem.objects.filter(job=job, path="docs/README.md")
    failed.update(state="failed", outcome="failed", reason="quarantined")
    again = run_to_end(retry(job))
    assert (again.kind, again.state, again.items_total) == ("ingest_archive", "succeeded", 1)
    assert list(JobItem.objects.filter(job=again).values_list("path", flat=True)) == ["docs/README.md"]


def test_cancelling_while_unpacking_ends_the_job(client, workspace, monkeypatch):
    monkeypatch.setattr(archive_jobs, "_BATCH_MEMBERS", 1)
    keep = archive_jobs._store_batch

    def keep_and_cancel(work, batch):
        keep(work, batch)
        if batch:
            work.keeper._cancelled.set()

    monkeypatch.setattr(archive_jobs, "_store_batch", keep_and_cancel)
    job = run(workspace, post_archive(client, workspace, zip_of(FILES)))
    assert (job.state, paths(workspace)) == ("cancelled", [])
    blob = JobItem.objects.filter(job=job).values_list("blob", flat=True).first()
    assert not has_blob(workspace.pk, blob)


@pytest.mark.parametrize("n_openings", [1, 2])
def test_cancelling_is_seen_between_two_members(client, workspace, monkeypatch, n_openings):
    openings = []
    open_archive = archive_jobs.open_archive

    def open_counted(*arguments):
        openings.append(arguments)
        return open_archive(*arguments)

    answer = post_archive(client, workspace, zip_of(FILES))
    monkeypatch.setattr(archive_jobs, "open_archive", open_counted)
    monkeypatch.setattr(LeaseKeeper, "is_cancelled", property(lambda _: len(openings) >= n_openings))
    job = run(workspace, answer)
    assert (job.state, len(openings)) == ("cancelled", n_openings)
    assert not JobItem.objects.filter(job=job).exists()


def test_members_are_written_concurrently(client, workspace, monkeypatch):
    answer = post_archive(client, workspace, zip_of(FILES))
    both_write = threading.Barrier(len(FILES), timeout=30)
    write = blobs._write

    def write_together(*arguments):
        both_write.wait()
        write(*arguments)

    monkeypatch.setattr(blobs, "_write", write_together)
    assert run(workspace, answer).state == "succeeded"


def test_interrupted_job_begins_unpacking_again(client, workspace, monkeypatch):
    monkeypatch.setattr(archive_jobs, "_BATCH_MEMBERS", 1)
    monkeypatch.setattr(archive_jobs, "_store_listing", lambda *_: 1 / 0)
    job = run(workspace, post_archive(client, workspace, zip_of(FILES)))
    assert (job.state, JobItem.objects.filter(job=job).count()) == ("running", 2)
    monkeypatch.undo()
    Job.objects.filter(pk=job.pk).update(due_at=job.created_at)
    job = run_to_end(job)
    assert (job.state, job.items_total, paths(workspace)) == ("succeeded", 2, PATHS)


def test_deleted_document_does_not_come_back_from_a_waiting_archive(client, workspace):
    doc_id = upload(client, workspace, "docs/README.md")
    answer = post_archive(client, workspace, zip_of(FILES))
    job = Job.objects.get(pk=answer.json()["job"]["id"])
    item = {"path": "docs/README.md", "action": "ingest", "blob": "0" * 64}
    JobItem.objects.create(workspace=workspace, job=job, **item)
    assert client.delete(address(workspace, f"/documents/{doc_id}")).status_code == 204
    assert JobItem.objects.get(job=job).action == "delete"


def test_bytes_of_members_are_kept_while_their_job_is_open(client, workspace):
    doc_id = upload(client, workspace, "own.md", text="# Shared\n\nBoth have it.\n")
    area = ensure_source(workspace, "uploads", kind="upload")
    fields = {"kind": "ingest_archive", "source": area, "payload": {"blob": "0" * 64}}
    job = Job.objects.create(workspace=workspace, **fields)
    blob = Document.objects.get().content_hash
    JobItem.objects.create(workspace=workspace, job=job, path="docs/a.md", action="ingest", blob=blob)
    client.delete(address(workspace, f"/documents/{doc_id}"))
    assert has_blob(workspace.pk, blob)


def test_source_is_deleted_with_the_bytes_of_its_archives(client, workspace):
    answer = post_archive(client, workspace, zip_of(FILES))
    job = Job.objects.get(pk=answer.json()["job"]["id"])
    cancel(job)
    assert has_blob(workspace.pk, job.payload["blob"])
    run(workspace, client.delete(address(workspace, f"/sources/{Source.objects.get().pk}")))
    assert not has_blob(workspace.pk, job.payload["blob"])
