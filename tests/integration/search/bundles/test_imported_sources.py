"""Imported folder sources are synced here only if their folders are allowed."""

import pytest

from ingest.connectors.git.address import file_url, parse_address, repository_url
from ingest.jobs.queue.request import request_sync
from search.bundles.importer.importer import ImportRequest, import_bundle
from search.bundles.rows import RowNumbers, section_row, source_fields
from search.models import Source
from tests.integration.search.bundles.forgeries import forge, put_fields
from tests.support.jobs import indexed_texts, work


@pytest.fixture
def linked_folder(tmp_path):
    """Return a folder whose parent is a symbolic link."""
    (tmp_path / "disk" / "note s").mkdir(parents=True)
    (tmp_path / "srv").symlink_to(tmp_path / "disk")
    return tmp_path / "srv" / "note s"


def row(kind, **config):
    return {"kind": kind, "config": config, "state": "pending", "last_indexed_at": None}


def imported_source(file, path, slug):
    """Import the bundle, whose first source reads a folder every five minutes."""
    change = put_fields("sources", kind="folder", config={"path": str(path)}, sync_every_minutes=5)
    made = import_bundle(ImportRequest(file=forge(file, change), slug=slug))
    return made, Source.objects.get(workspace=made.workspace, key="docs")


def test_folder_that_is_not_allowed_is_detached(sample, settings, tmp_path):
    settings.KEBAB_FOLDER_ROOTS = [tmp_path / "allowed"]
    allowed = str(tmp_path / "allowed" / "notes")
    one, outside = imported_source(sample.file, "/etc", "one")
    two, inside = imported_source(sample.file, allowed, "two")

    assert (outside.kind, outside.config, one.detached) == ("upload", {}, ("docs",))
    assert (inside.kind, inside.config, two.detached) == ("folder", {"path": allowed}, ())
    # Nothing is read before somebody asks for it.
    assert [(each.watch, each.next_sync_at) for each in (outside, inside)] == [(False, None)] * 2


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        ("feed", {"url": "https://news.example.org/hush?token=hush"}),
        ("webdav", {"url": "https://cloud.example.org/hush"}),
        ("web", {"url": "https://docs.example.org/", "sitemap": "https://docs.example.org/s.xml?token=hush"}),
        ("program", {"program": "wiki", "options": ["key=hush"]}),
    ],
)
def test_source_whose_address_is_masked_becomes_an_upload_source(kind, config):
    exported = section_row("sources", Source(kind=kind, config=config), RowNumbers())
    fields, is_detached = source_fields(row(kind, **exported["config"]), [])
    assert "hush" not in str(exported)
    assert (is_detached, fields["kind"], fields["config"]) == (True, "upload", {})
    # Bundles of earlier releases have the whole address.
    fields, is_detached = source_fields(row(kind, **config), [])
    assert (is_detached, fields["kind"], fields["config"]) == (False, kind, config)


def test_source_that_is_named_by_its_address_keeps_it():
    config = {"url": "https://git.example.org/sea/notes.git", "branch": "main"}
    exported = section_row("sources", Source(kind="git", config=config), RowNumbers())
    assert exported["config"] == config
    assert source_fields(row("git", **config), [])[1] is False


def test_folder_below_a_link_is_synced_after_an_import(sample, settings, linked_folder):
    settings.KEBAB_FOLDER_ROOTS = [linked_folder.parent.resolve()]
    (linked_folder / "a.md").write_text("# A\n\nA quay.\n")
    made, source = imported_source(sample.file, linked_folder, "elsewhere")
    job = work(request_sync(source))

    assert (source.kind, source.config) == ("folder", {"path": str(linked_folder.resolve())})
    assert (job.state, job.error) == ("succeeded", "")
    assert "a.md" in indexed_texts(made.workspace)


def test_repository_below_a_link_is_read_after_an_import(linked_folder):
    (linked_folder / ".git" / "objects").mkdir(parents=True)
    given = row("git", url=file_url(linked_folder), branch="main")
    fields, is_detached = source_fields(given, [linked_folder.parent.resolve()])
    folder = parse_address(fields["config"]["url"]).folder

    assert (is_detached, fields["config"]["branch"], folder) == (False, "main", linked_folder.resolve())
    assert repository_url(folder) == file_url(linked_folder.resolve() / ".git")


@pytest.mark.parametrize("path", ["srv/note s", "/etc", "/srv/\0", "", "."])
def test_folder_outside_the_roots_becomes_an_upload_source(linked_folder, monkeypatch, path):
    monkeypatch.chdir(linked_folder.parent.parent)
    fields, is_detached = source_fields(row("folder", path=path), [linked_folder.parent.parent.resolve()])

    assert (is_detached, fields["kind"], fields["config"]) == (True, "upload", {})
