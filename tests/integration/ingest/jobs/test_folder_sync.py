"""Syncing a folder: what the report counts, and what is never done twice."""

import os
from dataclasses import replace

import pytest
from django.core.files.storage import default_storage

from ingest.connectors.connect import Opening, connect
from ingest.connectors.folder_source import FolderSource
from ingest.jobs import sync_source, writing
from ingest.jobs.report import ingest_report
from ingest.jobs.request import request_sync, retry
from ingest.models import Job, Unreadable
from ingest.parsers.errors import Quarantined
from ingest.sandbox.digester import Digester
from kebab.people.models import Workspace
from search.blobs import blob_name
from search.corpus import ensure_version
from search.identifiers import content_hash
from search.models import Change, Document, Source
from tests.support.jobs import PICTURE, counts, fill, indexed, sync, work

FILES = {"a.md": "# A\n\nalpha\n", "b/c.md": "# C\n\ngamma\n", "d.txt": "delta\n"}


def refusing(refused):
    """Give a reader of folders that may not read one path."""
    read = FolderSource.read

    def refuse(self, path):
        if path == refused:
            raise PermissionError(13, "Permission denied")
        return read(self, path)

    return refuse


def blob_is_kept(workspace, content):
    return default_storage.exists(blob_name(workspace.pk, content_hash(content)))


def test_the_first_sync_indexes_everything(workspace, folder, source):
    fill(folder, FILES)
    report = sync(source)
    assert counts(report) == {"seen": 3, "new": 3, "parser_calls": 3}
    assert indexed(workspace) == {"a.md": ["alpha"], "b/c.md": ["gamma"], "d.txt": ["delta"]}
    assert report["seq"] == Workspace.objects.get(pk=workspace.pk).head_seq == 3
    assert (report["bytes"], report["chunks"]) == (sum(len(text) for text in FILES.values()), 3)
    assert Source.objects.get(pk=source.pk).state == "indexed"


def test_a_second_sync_parses_and_writes_nothing(workspace, folder, source):
    fill(folder, FILES)
    sync(source)
    before = list(Document.objects.values()), Change.objects.count()
    assert counts(sync(source)) == {"seen": 3, "unchanged": 3}
    assert (list(Document.objects.values()), Change.objects.count()) == before


def test_touched_files_are_read_once_more_and_not_parsed(workspace, folder, source):
    fill(folder, FILES)
    sync(source)
    fill(folder, FILES)
    assert counts(sync(source)) == {"seen": 3, "unchanged": 3}
    assert Change.objects.count() == 3
    assert not Job.objects.filter(kind="sync_source").latest("created_at").items.exclude(outcome="unchanged")
    sync(source)
    assert not Job.objects.filter(kind="sync_source").latest("created_at").items.exists()


def test_edited_deleted_and_renamed_files_are_followed(workspace, folder, source):
    fill(folder, {**FILES, "renamed.md": "same text\n", "kept.md": "kept\n"})
    sync(source)
    fill(folder, {"a.md": "# A\n\nalpha, edited\n"})
    (folder / "d.txt").unlink()
    (folder / "renamed.md").rename(folder / "after.md")
    expected = {"seen": 4, "new": 1, "updated": 1, "unchanged": 2, "deleted": 2, "parser_calls": 2}
    assert counts(sync(source)) == expected
    assert indexed(workspace) == {
        "a.md": ["alpha, edited"],
        "b/c.md": ["gamma"],
        "after.md": ["same text"],
        "kept.md": ["kept"],
    }


def test_what_is_skipped_is_counted_by_reason_with_examples(workspace, folder, source):
    fill(folder, {"a.md": "alpha\n", ".gitignore": "secret*\n", "secret.md": "x\n", "poetry.lock": "x\n"})
    fill(folder, {"node_modules/x.js": "x\n", "picture.png": PICTURE, "b#1.md": "x\n"})
    report = sync(source)
    assert report["skipped_by_reason"] == {
        "ignored": 1,
        "lock_file": 1,
        "skipped_directory": 1,
        "hash_in_path": 1,
        "no_parser": 1,
    }
    assert report["seen"] == report["new"] + 5
    assert report["examples"]["ignored"] == ["secret.md"]
    assert report["examples"]["no_parser"] == ["picture.png"]


def test_a_file_that_comes_to_be_ignored_is_deleted(workspace, folder, source):
    fill(folder, {"a.md": "alpha\n", "b.md": "beta\n"})
    sync(source)
    fill(folder, {".kebabignore": "b.md\n"})
    assert sync(source)["deleted"] == 1
    assert "b.md" not in indexed(workspace)


def test_a_listing_that_fails_deletes_nothing(workspace, folder, source):
    fill(folder, FILES)
    sync(source)
    folder.rename(folder.with_name("moved"))
    job = work(request_sync(source))
    assert (job.state, "could not be listed" in job.error) == ("failed", True)
    assert len(indexed(workspace)) == 3
    assert Source.objects.get(pk=source.pk).state == "error"
    folder.with_name("moved").rename(folder)
    assert counts(sync(source)) == {"seen": 3, "unchanged": 3}
    assert Source.objects.get(pk=source.pk).state == "indexed"


def test_a_link_in_place_of_the_folder_is_not_followed(workspace, folder, source, tmp_path_factory):
    fill(folder, FILES)
    sync(source)
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    fill(elsewhere, {"secret.md": "secret\n"})
    folder.rename(folder.with_name("moved"))
    folder.symlink_to(elsewhere)
    job = work(request_sync(source))
    assert (job.state, "is a link to elsewhere now" in job.error) == ("failed", True)
    assert "secret.md" not in indexed(workspace)
    assert len(indexed(workspace)) == 3


def test_the_caps_of_sizes_are_the_operators(folder, source, settings):
    settings.KEBAB_CODE_LIMIT_BYTES, settings.KEBAB_DOCUMENT_LIMIT_BYTES = 10, 20
    fill(
        folder, {"a.py": "x = 1\n", "b.py": "x = 10_000\n", "c.md": "fifteen letters\n", "d.md": "word " * 5}
    )
    report = sync(source)
    assert (report["new"], report["skipped_by_reason"]) == (2, {"too_large": 2})
    assert report["examples"]["too_large"] == ["b.py", "d.md"]


def test_a_file_that_grows_beyond_the_operators_cap_is_not_read(folder, source, settings):
    settings.KEBAB_CODE_LIMIT_BYTES = settings.KEBAB_DOCUMENT_LIMIT_BYTES = 20
    fill(folder, {"a.md": "short\n"})
    with connect(Opening(source=source, version=ensure_version(source))) as connector:
        fill(folder, {"a.md": "word " * 5})
        with pytest.raises(PermissionError, match="It has grown to more than 20 bytes"):
            connector.read("a.md")


def test_what_parsers_warn_of_stands_in_the_item(folder, source):
    fill(folder, {"a.md": "fine\n", "b.ipynb": "no notebook\n"})
    job = work(request_sync(source))
    details = dict(job.items.values_list("path", "detail"))
    assert details["a.md"] == ""
    assert "the notebook parser failed" in details["b.ipynb"]


def test_endless_warnings_are_cut(workspace, folder, source, monkeypatch):
    digest = Digester.digest

    def warn(self, *rest, **options):
        return replace(digest(self, *rest, **options), warnings=("odd \0", "x" * 5_000))

    monkeypatch.setattr(Digester, "digest", warn)
    fill(folder, {"a.md": "words\n"})
    (item,) = work(request_sync(source)).items.all()
    assert item.detail == ("odd ; " + "x" * 5_000)[:1_000]
    assert indexed(workspace) == {"a.md": ["words"]}


def test_a_refused_file_is_remembered_until_it_changes(workspace, folder, source):
    fill(folder, {"picture.md": PICTURE})
    assert counts(sync(source)) == {"seen": 1, "skipped": 1, "parser_calls": 1}
    assert counts(sync(source)) == {"seen": 1, "skipped": 1}
    assert Unreadable.objects.get().reason == "no_parser"
    fill(folder, {"picture.md": "words\n"})
    assert counts(sync(source)) == {"seen": 1, "new": 1, "parser_calls": 1}
    assert not Unreadable.objects.exists()
    assert counts(sync(source)) == {"seen": 1, "unchanged": 1}


def test_a_refused_file_that_goes_was_never_a_document(workspace, folder, source):
    fill(folder, {"picture.png": PICTURE})
    sync(source)
    (folder / "picture.png").unlink()
    assert counts(sync(source)) == {}
    assert not Unreadable.objects.exists()


def test_a_document_that_can_no_longer_be_read_as_one_goes(workspace, folder, source):
    fill(folder, {"a.md": "words\n"})
    sync(source)
    fill(folder, {"a.md": PICTURE})
    assert counts(sync(source)) == {"seen": 1, "skipped": 1, "deleted": 1, "parser_calls": 1}
    assert counts(sync(source)) == {"seen": 1, "skipped": 1}
    assert indexed(workspace) == {}
    assert not blob_is_kept(workspace, b"words\n")


def test_a_file_that_kills_its_parsers_is_quarantined_and_its_old_content_stays(
    workspace, folder, source, monkeypatch
):
    fill(folder, {"a.md": "words\n"})
    sync(source)
    digest = Digester.digest

    def die(self, content, path, *rest, **options):
        if b"deadly" in content:
            raise Quarantined("every parser failed on it")
        return digest(self, content, path, *rest, **options)

    monkeypatch.setattr(Digester, "digest", die)
    fill(folder, {"a.md": "deadly\n", "b.md": "fine\n"})
    report = sync(source)
    assert counts(report) == {"seen": 2, "new": 1, "failed": 1, "parser_calls": 2}
    assert report["failed_by_reason"] == {"quarantined": 1}
    assert indexed(workspace) == {"a.md": ["words"], "b.md": ["fine"]}
    assert counts(sync(source)) == {"seen": 2, "unchanged": 1, "failed": 1}
    fill(folder, {"a.md": "mended\n"})
    assert counts(sync(source)) == {"seen": 2, "updated": 1, "unchanged": 1, "parser_calls": 1}
    assert counts(sync(source)) == {"seen": 2, "unchanged": 2}
    assert not Unreadable.objects.exists()


def test_a_quarantined_file_that_becomes_what_it_was_is_forgotten(workspace, folder, source):
    fill(folder, {"a.md": "words\n"})
    sync(source)
    document = Document.objects.get()
    Unreadable.objects.create(
        workspace=workspace,
        version=document.version,
        path="a.md",
        size_bytes=1,
        content_hash="x",
        parser_version=document.parser_version,
        is_quarantined=True,
        reason="quarantined",
    )
    assert counts(sync(source)) == {"seen": 1, "unchanged": 1}
    assert not Unreadable.objects.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_failed(workspace, folder, source):
    fill(folder, {"a.md": "words\n"})
    (folder / "a.md").chmod(0)
    assert sync(source)["failed_by_reason"] == {"unreadable": 1}


def test_files_that_cannot_be_read_are_failed_and_tried_again(workspace, folder, source, monkeypatch):
    fill(folder, FILES)
    monkeypatch.setattr(FolderSource, "read", refusing("a.md"))
    report = sync(source)
    assert (counts(report)["failed"], report["failed_by_reason"]) == (1, {"unreadable": 1})
    monkeypatch.undo()
    assert counts(sync(source)) == {"seen": 3, "new": 1, "unchanged": 2, "parser_calls": 1}


def test_a_file_that_vanishes_after_the_listing_is_skipped(workspace, folder, source, monkeypatch):
    def vanish(self, path):
        raise FileNotFoundError(path)

    fill(folder, {"a.md": "words\n"})
    monkeypatch.setattr(FolderSource, "read", vanish)
    assert sync(source)["skipped_by_reason"] == {"vanished": 1}


def test_a_link_that_comes_to_lead_outside_is_not_followed(workspace, folder, source, tmp_path, monkeypatch):
    (tmp_path / "outside.md").write_text("secret\n")
    fill(folder, {"a.md": "words\n"})
    discover = sync_source._discover

    def then_swap(*arguments):
        discover(*arguments)
        (folder / "a.md").unlink()
        (folder / "a.md").symlink_to(tmp_path / "outside.md")

    monkeypatch.setattr(sync_source, "_discover", then_swap)
    assert sync(source)["failed_by_reason"] == {"unreadable": 1}
    assert indexed(workspace) == {}


@pytest.mark.parametrize(
    "content",
    [
        '---\ntitle: "a\\0b"\n---\ntext\n',
        '---\ntitle: t\nnote: "a\\0b"\ntags: ["x\\0y"]\n---\ntext\n',
        "---\ntags: [" + ", ".join("t" * 150 + str(n) for n in range(80)) + "]\n---\ntext\n",
        "```" + "x" * 300 + "\ncode\n```\n",
        "# " + "long " * 1_000 + "\n\ntext\n",
        "text with \x00 and \x1b in it\n",
        "---\nlang: " + "x" * 100 + "\n---\ntext\n",
        "x" * 300_000,
        "",
        "\ufeff\n",
    ],
)
def test_a_hostile_file_does_not_break_off_the_job(workspace, folder, source, content):
    fill(folder, {"hostile.md": content, "fine.md": "fine\n"})
    assert sync(source)["seen"] == 2
    assert indexed(workspace)["fine.md"] == ["fine"]


def test_a_path_too_long_to_be_cited_is_skipped(workspace, folder, source):
    deep = "/".join(["d" * 200] * 5)
    fill(folder, {f"{deep}/long.md": "far down\n", "fine.md": "fine\n"})
    report = sync(source)
    assert report["skipped_by_reason"] == {"path_too_long": 1}
    assert indexed(workspace) == {"fine.md": ["fine"]}


def test_retrying_works_off_only_what_failed(workspace, folder, source, monkeypatch):
    fill(folder, FILES)
    monkeypatch.setattr(FolderSource, "read", refusing("a.md"))
    job = work(request_sync(source))
    monkeypatch.undo()
    fill(folder, {"new.md": "not part of the retry\n"})
    again = work(retry(job))
    assert counts(ingest_report(again)) == {"seen": 1, "new": 1, "parser_calls": 1}
    assert "new.md" not in indexed(workspace)


def test_a_blob_is_kept_for_documents_alone_and_goes_with_them(workspace, folder, source):
    fill(folder, {"a.md": "first\n", "same.md": "shared\n", "same2.md": "shared\n", "picture.png": PICTURE})
    sync(source)
    assert blob_is_kept(workspace, b"first\n")
    assert not blob_is_kept(workspace, PICTURE)
    fill(folder, {"a.md": "second\n"})
    (folder / "same.md").unlink()
    sync(source)
    assert [blob_is_kept(workspace, text) for text in (b"first\n", b"second\n", b"shared\n")] == [
        False,
        True,
        True,
    ]
    (folder / "same2.md").unlink()
    sync(source)
    assert not blob_is_kept(workspace, b"shared\n")


def test_a_document_that_postgres_refuses_is_failed_and_the_rest_succeeds(
    workspace, folder, source, monkeypatch
):
    make = writing.document_draft

    def overlong(digest, found, **about):
        made = make(digest, found, **about)
        return replace(made, mime="x" * 300) if found.content == FILES["a.md"].encode() else made

    monkeypatch.setattr(writing, "document_draft", overlong)
    fill(folder, FILES)
    report = sync(source)
    assert (counts(report)["new"], report["failed_by_reason"]) == (2, {"unstorable": 1})
    assert counts(sync(source)) == {"seen": 3, "unchanged": 2, "failed": 1}
