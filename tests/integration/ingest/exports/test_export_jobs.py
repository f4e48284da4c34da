"""Exports of other products in folders and archives become documents, and newer exports update them."""

import json
import zipfile

import pytest

from ingest.connectors.folder_kind import FolderSource
from ingest.exports.found import ExportSource
from ingest.services.archive_uploads import ArchiveUpload, accept_archive
from kebab.identity.reader import OPERATOR
from search.corpus.blobs import read_blob
from search.models import Document
from tests.support.archives import tar_of, zip_of
from tests.support.jobs import failure, fill, sync, work
from tests.unit.ingest.exports.samples import CONFLUENCE_XML

VAULT = {
    ".obsidian/app.json": "{}",
    "Alpha.md": "# Alpha\n\nBy [[Ada]], see [[Beta]]. #plan\n",
    "People/Ada.md": "# Ada\n\nShe writes.\n",
}


def texts(workspace):
    documents = Document.objects.in_workspace(workspace)
    return {each.path: read_blob(workspace.pk, each.content_hash).decode() for each in documents}


def upload(workspace, tmp_path, content):
    job = upload_archive(workspace, tmp_path, content)
    assert job.state == "succeeded"


def upload_archive(workspace, tmp_path, content):
    packed = tmp_path / "export.zip"
    packed.write_bytes(content)
    with packed.open("rb") as file:
        archive = ArchiveUpload(source="notes", name="export.zip", folder="export", version="", file=file)
        return work(accept_archive(workspace, archive, reader=OPERATOR, requested_by=""))


def test_folder_is_read_again_when_a_link_finds_its_target(workspace, source, folder):
    fill(folder, VAULT)
    first = sync(source)
    assert (first["new"], first["skipped_by_reason"]) == (2, {"export_file": 1})
    assert "By [Ada](People/Ada.md), see Beta." in texts(workspace)["Alpha.md"]
    assert Document.objects.get(path="Alpha.md").tags == ["plan"]
    again = sync(source)
    assert (again["unchanged"], again["parser_calls"]) == (2, 0)

    fill(folder, {"Beta.md": "# Beta\n\nSecond.\n"})
    third = sync(source)
    assert (third["new"], third["updated"], third["unchanged"]) == (1, 1, 1)
    assert "see [Beta](Beta.md)." in texts(workspace)["Alpha.md"]

    (folder / "Beta.md").unlink()
    assert sync(source)["deleted"] == 1
    assert "Beta.md" not in texts(workspace)


@pytest.mark.parametrize("pack", [zip_of, tar_of])
def test_archive_is_converted_like_a_folder(workspace, tmp_path, pack):
    upload(workspace, tmp_path, pack(VAULT))
    assert "By [Ada](People/Ada.md)" in texts(workspace)["export/Alpha.md"]
    assert sorted(texts(workspace)) == ["export/Alpha.md", "export/People/Ada.md"]

    upload(workspace, tmp_path, pack({**VAULT, "Beta.md": "# Beta\n\nSecond.\n"}))
    assert "see [Beta](Beta.md)." in texts(workspace)["export/Alpha.md"]


def message(user, text, ts="1704445200.000000"):
    return {"type": "message", "user": user, "ts": ts, "text": text}


def slack(name, **days):
    users = [{"id": "U1", "name": "x", "real_name": name}]
    files = {"users.json": users, "channels.json": [{"id": "C1", "name": "general"}]}
    return {path: json.dumps(content) for path, content in {**files, **days}.items()}


DAY, EMPTY = "general/2024-01-05.json", "general/2024-01-06.json"


def test_person_renamed_in_a_list_is_renamed_in_all_days(workspace, source, folder):
    joined = {**message("U1", "joined"), "subtype": "channel_join"}
    fill(folder, slack("Ada", **{DAY: [message("U1", "Hello")], EMPTY: [joined]}))
    first = sync(source)
    assert (first["new"], first["skipped_by_reason"]) == (1, {"export_file": 2, "empty": 1})
    assert Document.objects.get().metadata["author"] == "Ada"

    fill(folder, {"users.json": slack("Ada Lovelace")["users.json"]})
    assert sync(source)["updated"] == 1
    assert Document.objects.get().metadata["author"] == "Ada Lovelace"
    assert sync(source)["unchanged"] == 1


@pytest.mark.parametrize("pack", [zip_of, tar_of])
def test_user_lists_at_the_end_of_an_archive_are_applied(workspace, tmp_path, pack):
    files = slack("Ada", **{DAY: [message("U1", "Hello")], EMPTY: []})
    upload(workspace, tmp_path, pack(dict(reversed(files.items()))))
    assert list(texts(workspace)) == ["export/general/2024-01-05.md"]
    assert "**Ada, 09:00:** Hello" in texts(workspace)["export/general/2024-01-05.md"]


def test_page_gone_from_a_dump_is_deleted_but_not_by_a_broken_one(workspace, source, folder):
    fill(folder, {"entities.xml": CONFLUENCE_XML, "exportDescriptor.properties": "x=1\n"})
    assert sync(source)["new"] == 2
    assert sync(source)["unchanged"] == 2
    before, page, after = CONFLUENCE_XML.partition(
        '<object class="Page" package="com.atlassian.confluence.pages"><id name="id">1002'
    )
    fill(folder, {"entities.xml": f"{before}{page}{after.replace('[current]', '[deleted]', 1)}"})
    report = sync(source)
    assert (report["deleted"], report["updated"]) == (1, 1)
    assert Document.objects.get().title == "Run/book"

    fill(folder, {"entities.xml": CONFLUENCE_XML[:-200]})
    assert "entities.xml" in failure(source)
    assert Document.objects.count() == 1


def test_oversized_dump_fails_the_sync_and_deletes_nothing(source, folder, settings):
    large = CONFLUENCE_XML + f"<!-- {'x' * settings.KEBAB_CODE_LIMIT_BYTES} -->"
    export = {"entities.xml": large, "exportDescriptor.properties": "x=1\n"}
    fill(folder, export)
    assert sync(source)["new"] == 2

    settings.KEBAB_DOCUMENT_LIMIT_BYTES = len(large) - 1
    assert "entities.xml" in failure(source)
    assert Document.objects.count() == 2


def test_archive_with_a_damaged_dump_or_one_too_large_is_refused(workspace, tmp_path, settings):
    export = {"entities.xml": CONFLUENCE_XML, "exportDescriptor.properties": "x=1\n"}
    packed = zip_of(export, zipfile.ZIP_STORED)
    damaged = upload_archive(workspace, tmp_path, packed.replace(b"Deputy", b"deputy", 1))
    settings.KEBAB_DOCUMENT_LIMIT_BYTES = 1_000
    for job in (damaged, upload_archive(workspace, tmp_path, packed)):
        assert (job.state, "entities.xml" in job.error) == ("failed", True)


def test_job_that_goes_on_after_its_listing_reads_documents(folder):
    fill(folder, {"entities.xml": CONFLUENCE_XML, "exportDescriptor.properties": "x=1\n", "a.md": "A"})
    files = ExportSource(FolderSource(folder))
    assert b"<h1>Deputy</h1>" in files.read("Deputy_1002.html").content
    assert files.read("a.md").content == b"A"
