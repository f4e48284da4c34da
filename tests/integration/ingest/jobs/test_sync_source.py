"""A sync of a folder reports its counts and repeats no work."""

import os
import subprocess
from dataclasses import replace
from datetime import timedelta

import pytest

from ingest.connectors.folder_kind import FolderSource
from ingest.connectors.kinds import connect
from ingest.connectors.types import OpenOptions
from ingest.digest.digester import Digester
from ingest.jobs.items import writer
from ingest.jobs.kinds import sync_source
from ingest.jobs.queue.report import ingest_report
from ingest.jobs.queue.request import request_sync
from ingest.jobs.queue.schedule import retry
from ingest.models import JobItem, Unreadable
from ingest.parsers.errors import Quarantined
from kebab.identity.models import Workspace
from search.corpus import ensure_version
from search.corpus.blobs import has_blob
from search.corpus.content_ids import content_hash
from search.models import Change, Document, Source
from tests.support.jobs import PICTURE, counts, failure, fill, indexed_texts, sync, work
from tests.support.schemas import validate

FILES = {"a.md": "# A\n\nalpha\n", "b/c.md": "# C\n\ngamma\n", "d.txt": "delta\n"}


def refusing(errors):
    """Return a folder reader that raises these errors at their paths."""
    read = FolderSource.read

    def refuse(self, path):
        if path in errors:
            raise errors[path](13, "refused", path)
        return read(self, path)

    return refuse


def blob_is_kept(workspace, content):
    return has_blob(workspace.pk, content_hash(content))


def test_first_sync_indexes_everything_and_later_ones_write_nothing(workspace, folder, source):
    fill(folder, FILES)
    report = sync(source)
    assert counts(report) == {"seen": 3, "new": 3, "parser_calls": 3}
    assert indexed_texts(workspace) == {"a.md": ["alpha"], "b/c.md": ["gamma"], "d.txt": ["delta"]}
    assert report["seq"] == Workspace.objects.get(pk=workspace.pk).head_seq == 3
    assert (report["bytes"], report["chunks"]) == (sum(len(text) for text in FILES.values()), 3)
    assert Source.objects.get(pk=source.pk).state == "indexed"

    changed_at = (folder / "a.md").stat().st_mtime
    assert abs(Document.objects.get(path="a.md").dated_at.timestamp() - changed_at) < 0.001

    before = list(Document.objects.values()), Change.objects.count()
    assert counts(sync(source)) == {"seen": 3, "unchanged": 3}
    assert (list(Document.objects.values()), Change.objects.count()) == before
    fill(folder, FILES)  # under later times, so that they are read once more
    for outcomes in ({"unchanged"}, set()):
        job = work(request_sync(source))
        assert counts(ingest_report(job)) == {"seen": 3, "unchanged": 3}
        assert set(job.items.values_list("outcome", flat=True)) == outcomes
    assert Change.objects.count() == 3


def test_weekly_comparison_finds_changes_with_equal_time_and_size(workspace, folder, source):
    fill(folder, FILES)
    sync(source)
    times = (folder / "a.md").stat()
    (folder / "a.md").write_text("# A\n\nomega\n")
    os.utime(folder / "a.md", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert counts(sync(source)) == {"seen": 3, "unchanged": 3}
    source.refresh_from_db()
    Source.objects.filter(pk=source.pk).update(compared_at=source.compared_at - timedelta(days=8))
    assert counts(sync(source)) == {"seen": 3, "unchanged": 2, "updated": 1, "parser_calls": 1}
    assert indexed_texts(workspace)["a.md"] == ["omega"]


def test_unchanged_files_keep_chunks_of_an_older_chunker_but_not_of_another_size(workspace, folder, source):
    fill(folder, FILES)
    sync(source)
    documents = Document.objects.in_workspace(workspace)
    documents.update(chunker_version="c1")
    assert counts(sync(source)) == {"seen": 3, "unchanged": 3}
    fill(folder, {"a.md": FILES["a.md"], "d.txt": "changed\n"})  # the first under a later time alone
    assert counts(sync(source)) == {"seen": 3, "unchanged": 2, "updated": 1, "parser_calls": 1}
    older = documents.filter(chunker_version="c1")
    assert set(older.values_list("path", flat=True)) == {"a.md", "b/c.md"}
    older.update(chunker_version="c1-128")
    assert counts(sync(source)) == {"seen": 3, "unchanged": 1, "updated": 2, "parser_calls": 2}


def test_edited_deleted_renamed_and_ignored_files_are_followed(workspace, folder, source):
    fill(folder, {**FILES, "renamed.md": "same text\n", "kept.md": "kept\n", "private.md": "seen\n"})
    sync(source)
    fill(folder, {"a.md": "# A\n\nalpha, edited\n", ".kebabignore": "private.md\n"})
    (folder / "d.txt").unlink()
    (folder / "renamed.md").rename(folder / "after.md")
    changed = {"new": 2, "updated": 1, "unchanged": 2, "skipped": 1, "deleted": 3}
    assert counts(sync(source)) == {"seen": 6, **changed, "parser_calls": 3}
    assert indexed_texts(workspace) == {
        "a.md": ["alpha, edited"],
        "b/c.md": ["gamma"],
        "after.md": ["same text"],
        "kept.md": ["kept"],
        ".kebabignore": ["private.md"],
    }


def test_skipped_files_are_counted_by_reason_with_examples(workspace, folder, source):
    fill(folder, {"a.md": "alpha\n", ".gitignore": "secret*\n", "secret.md": "x\n", "poetry.lock": "x\n"})
    fill(folder, {"node_modules/x.js": "x\n", "picture.png": PICTURE, "b\t1.md": "x\n"})
    (folder / "plan.mpp").write_bytes(bytes(range(256)) * 8)
    fill(folder, {"/".join(["d" * 200] * 5) + "/long.md": "far down\n"})
    report = sync(source)
    name = "control_character_in_name"
    reasons = (
        "ignored",
        "lock_file",
        "skipped_directory",
        name,
        "no_parser",
        "path_too_long",
        "closed_format",
    )
    assert report["skipped_by_reason"] == dict.fromkeys(reasons, 1)
    assert (report["seen"], set(indexed_texts(workspace))) == (9, {"a.md", ".gitignore"})
    assert report["examples"]["ignored"] == ["secret.md"]
    assert report["examples"]["no_parser"] == ["picture.png"]
    assert ".docx" in report["explanations"]["closed_format"]
    assert "as PDF" in JobItem.objects.get(reason="closed_format").detail


def test_listing_that_fails_deletes_nothing(workspace, folder, source, tmp_path_factory):
    fill(folder, FILES)
    sync(source)
    moved, elsewhere = folder.with_name("moved"), tmp_path_factory.mktemp("elsewhere")
    folder.rename(moved)
    assert str(folder) in failure(source)
    assert Source.objects.get(pk=source.pk).state == "error"
    fill(elsewhere, {"secret.md": "secret\n"})
    folder.symlink_to(elsewhere)
    assert "a link" in failure(source)
    assert indexed_texts(workspace).keys() == FILES.keys()

    folder.unlink()
    moved.rename(folder)
    assert counts(sync(source)) == {"seen": 3, "unchanged": 3}
    assert Source.objects.get(pk=source.pk).state == "indexed"


@pytest.fixture
def deep_folder(folder):
    """Make a folder below `later` whose path is longer than any that the system takes: no listing gets there.

    That holds for every user; root may read what has no rights.
    """
    name = "n" * 200
    (folder / "later").mkdir()
    place = os.open(folder / "later", os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(4_200 // len(name)):
        os.mkdir(name, dir_fd=place)  # no path leads there
        deeper = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=place)
        os.close(place)
        place = deeper
    os.close(place)
    yield folder / "later" / name
    subprocess.run(["rm", "-rf", str(folder / "later" / name)], check=True)  # noqa: S607


def test_listing_that_fails_half_way_changes_nothing(workspace, folder, source, request):
    fill(folder, {"a.md": "alpha\n", "b.md": "beta\n"})
    sync(source)
    before = indexed_texts(workspace)
    fill(folder, {"a.md": "alpha anew\n", "c.md": "gamma\n"})
    (folder / "b.md").unlink()
    too_deep = request.getfixturevalue("deep_folder")

    job = work(request_sync(source))
    assert (job.state, job.items_total, "name too long" in job.error) == ("failed", 0, True)
    assert indexed_texts(workspace) == before

    subprocess.run(["rm", "-rf", str(too_deep)], check=True)  # noqa: S607
    assert counts(sync(source)) == {"seen": 2, "new": 1, "updated": 1, "deleted": 1, "parser_calls": 2}


def test_sync_of_a_source_of_a_later_version_fails_with_the_reason(source):
    Source.objects.filter(pk=source.pk).update(kind="later")
    source.refresh_from_db()
    assert "kind later" in failure(source)


def test_configured_size_limits_apply_to_code_and_documents(folder, source, settings):
    settings.KEBAB_CODE_LIMIT_BYTES, settings.KEBAB_DOCUMENT_LIMIT_BYTES = 10, 20
    fill(
        folder, {"a.py": "x = 1\n", "b.py": "x = 10_000\n", "c.md": "fifteen letters\n", "d.md": "word " * 5}
    )
    report = sync(source)
    assert (report["new"], report["skipped_by_reason"]) == (2, {"too_large": 2})
    assert report["examples"]["too_large"] == ["b.py", "d.md"]


def test_file_that_grows_beyond_the_operators_cap_is_not_read(folder, source, settings):
    settings.KEBAB_CODE_LIMIT_BYTES = settings.KEBAB_DOCUMENT_LIMIT_BYTES = 20
    fill(folder, {"a.md": "short\n"})
    with connect(OpenOptions(source=source, version=ensure_version(source))) as connector:
        fill(folder, {"a.md": "word " * 5})
        with pytest.raises(PermissionError, match="20 bytes"):
            connector.read("a.md")


def test_warnings_of_a_parser_are_the_detail_of_the_item_and_are_cut(workspace, folder, source, monkeypatch):
    digest = Digester.digest

    def warn(self, content, path, *rest, **options):
        made = digest(self, content, path, *rest, **options)
        return replace(made, warnings=("odd \0", "x" * 5_000)) if path == "odd.md" else made

    monkeypatch.setattr(Digester, "digest", warn)
    fill(folder, {"a.md": "fine\n", "b.ipynb": "no notebook\n", "odd.md": "words\n"})
    details = dict(work(request_sync(source)).items.values_list("path", "detail"))
    assert (details["a.md"], "notebook" in details["b.ipynb"]) == ("", True)
    assert details["odd.md"] == ("odd ; " + "x" * 5_000)[:1_000]
    assert indexed_texts(workspace)["odd.md"] == ["words"]


def test_refused_file_is_remembered_until_it_changes_or_goes(folder, source):
    fill(folder, {"picture.md": PICTURE, "other.png": PICTURE})
    assert counts(sync(source)) == {"seen": 2, "skipped": 2, "parser_calls": 2}
    assert counts(sync(source)) == {"seen": 2, "skipped": 2}
    assert set(Unreadable.objects.values_list("reason", flat=True)) == {"no_parser"}
    fill(folder, {"picture.md": "words\n"})
    (folder / "other.png").unlink()
    assert counts(sync(source)) == {"seen": 1, "new": 1, "parser_calls": 1}
    assert not Unreadable.objects.exists()
    assert counts(sync(source)) == {"seen": 1, "unchanged": 1}


def test_document_that_can_no_longer_be_read_is_deleted(workspace, folder, source):
    fill(folder, {"a.md": "words\n"})
    sync(source)
    fill(folder, {"a.md": PICTURE})
    assert counts(sync(source)) == {"seen": 1, "skipped": 1, "deleted": 1, "parser_calls": 1}
    assert counts(sync(source)) == {"seen": 1, "skipped": 1}
    assert indexed_texts(workspace) == {}
    assert not blob_is_kept(workspace, b"words\n")


def test_file_that_kills_its_parsers_is_quarantined(workspace, folder, source, monkeypatch):
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
    assert indexed_texts(workspace) == {"a.md": ["words"], "b.md": ["fine"]}
    assert counts(sync(source)) == {"seen": 2, "unchanged": 1, "failed": 1}
    fill(folder, {"a.md": "mended\n"})
    assert counts(sync(source)) == {"seen": 2, "updated": 1, "unchanged": 1, "parser_calls": 1}
    assert counts(sync(source)) == {"seen": 2, "unchanged": 2}
    assert not Unreadable.objects.exists()


def test_quarantined_file_with_its_former_content_is_released(workspace, folder, source):
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


def test_files_that_cannot_be_read_are_failed_and_retried_alone(workspace, folder, source, monkeypatch):
    fill(folder, {**FILES, "gone.md": "gone\n"})
    errors = {"a.md": PermissionError, "gone.md": FileNotFoundError}
    monkeypatch.setattr(FolderSource, "read", refusing(errors))
    job = work(request_sync(source))
    report = ingest_report(job)
    assert (report["failed_by_reason"], report["skipped_by_reason"]) == ({"unreadable": 1}, {"vanished": 1})
    monkeypatch.undo()
    fill(folder, {"new.md": "not part of the retry\n"})
    assert counts(ingest_report(work(retry(job)))) == {"seen": 1, "new": 1, "parser_calls": 1}
    assert indexed_texts(workspace).keys() == FILES.keys()
    assert counts(sync(source)) == {"seen": 5, "new": 2, "unchanged": 3, "parser_calls": 2}


def test_link_that_comes_to_lead_outside_is_not_followed(workspace, folder, source, tmp_path, monkeypatch):
    (tmp_path / "outside.md").write_text("secret\n")
    fill(folder, {"a.md": "words\n"})
    discover = sync_source._discover

    def then_swap(*arguments):
        discover(*arguments)
        (folder / "a.md").unlink()
        (folder / "a.md").symlink_to(tmp_path / "outside.md")

    monkeypatch.setattr(sync_source, "_discover", then_swap)
    assert sync(source)["failed_by_reason"] == {"unreadable": 1}
    assert indexed_texts(workspace) == {}


def test_hostile_files_do_not_break_off_the_job(workspace, folder, source):
    hostile = [
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
    ]
    fill(folder, {"fine.md": "fine\n", **{f"{n}.md": content for n, content in enumerate(hostile)}})
    assert sync(source)["seen"] == len(hostile) + 1
    assert indexed_texts(workspace)["fine.md"] == ["fine"]
    assert {f"{n}.md" for n in range(8)} <= indexed_texts(workspace).keys()


def test_blob_is_kept_for_documents_alone_and_deleted_with_them(workspace, folder, source):
    def are_kept(*contents):
        return [blob_is_kept(workspace, content) for content in contents]

    fill(folder, {"a.md": "first\n", "same.md": "shared\n", "same2.md": "shared\n", "picture.png": PICTURE})
    sync(source)
    assert are_kept(b"first\n", PICTURE) == [True, False]
    fill(folder, {"a.md": "second\n"})
    (folder / "same.md").unlink()
    sync(source)
    assert are_kept(b"first\n", b"second\n", b"shared\n") == [False, True, True]
    (folder / "same2.md").unlink()
    sync(source)
    assert are_kept(b"second\n", b"shared\n") == [True, False]


def test_document_that_postgres_refuses_is_failed(workspace, folder, source, monkeypatch):
    make = writer.document_draft

    def overlong(digest, found, **about):
        made = make(digest, found, **about)
        return replace(made, mime="x" * 300) if found.content == FILES["a.md"].encode() else made

    monkeypatch.setattr(writer, "document_draft", overlong)
    fill(folder, FILES)
    report = sync(source)
    assert (counts(report)["new"], report["failed_by_reason"]) == (2, {"unstorable": 1})
    assert counts(sync(source)) == {"seen": 3, "unchanged": 2, "failed": 1}


def test_omissions_are_stored_with_document_and_item_and_counted_by_the_report(workspace, folder, source):
    page = "<nav>{}</nav><main><p>The lamp is lit at dusk by the keeper of the light.</p></main>"
    fill(folder, {"a.html": page.format("x" * 30), "b.html": page.format("y" * 12), "c.md": "words\n"})
    job = work(request_sync(source))
    documents = Document.objects.in_workspace(workspace)
    assert dict(documents.values_list("path", "omissions")) == {
        "a.html": {"site_parts": {"amount": 30}},
        "b.html": {"site_parts": {"amount": 12}},
        "c.md": {},
    }
    assert dict(job.items.values_list("path", "omissions")) == dict(
        documents.values_list("path", "omissions")
    )
    report = ingest_report(job)
    validate("ingest_report.v1", report)
    assert report["omissions"] == {"site_parts": {"documents": 2, "amount": 42, "unit": "characters"}}
    assert report["examples"]["site_parts"] == ["a.html", "b.html"]
    assert report["explanations"].keys() == {"site_parts"}
