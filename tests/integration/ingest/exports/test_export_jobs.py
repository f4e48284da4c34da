"""Exports of other products in folders and archives become documents, and newer exports update them."""

import pytest

from ingest.services.archive_uploads import ArchiveUpload, accept_archive
from kebab.people.reader import OPERATOR
from search.corpus.blobs import read_blob
from search.models import Document
from tests.support.archives import tar_of, zip_of
from tests.support.jobs import fill, sync, work

VAULT = {
    ".obsidian/app.json": "{}",
    "Alpha.md": "# Alpha\n\nBy [[Ada]], see [[Beta]]. #plan\n",
    "People/Ada.md": "# Ada\n\nShe writes.\n",
}


def texts(workspace):
    documents = Document.objects.in_workspace(workspace)
    return {each.path: read_blob(workspace.pk, each.content_hash).decode() for each in documents}


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
    def upload(files):
        packed = tmp_path / "vault.zip"
        packed.write_bytes(pack(files))
        with packed.open("rb") as file:
            archive = ArchiveUpload(source="notes", name="vault.zip", folder="vault", version="", file=file)
            return work(accept_archive(workspace, archive, reader=OPERATOR, requested_by=""))

    assert upload(VAULT).state == "succeeded"
    assert "By [Ada](People/Ada.md)" in texts(workspace)["vault/Alpha.md"]
    assert sorted(texts(workspace)) == ["vault/Alpha.md", "vault/People/Ada.md"]

    upload({**VAULT, "Beta.md": "# Beta\n\nSecond.\n"})
    assert "see [Beta](Beta.md)." in texts(workspace)["vault/Alpha.md"]
