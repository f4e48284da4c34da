"""What an import makes of sources that read folders: they are read on here where that is allowed."""

import json
from pathlib import Path

import pytest

from ingest.connectors.git.address import file_url, read_address, repository_url
from ingest.jobs.request import request_sync
from search.bundles.importing import ImportRequest, import_bundle
from search.bundles.source_rows import source_fields
from search.models import Source
from tests.integration.search.bundles.by_hand import forge
from tests.support.jobs import indexed, work


@pytest.fixture
def linked(tmp_path):
    """A folder below one that is a link on this machine."""
    (tmp_path / "disk" / "note s").mkdir(parents=True)
    (tmp_path / "srv").symlink_to(tmp_path / "disk")
    return tmp_path / "srv" / "note s"


def row(kind, **config):
    return {"kind": kind, "config": config, "state": "pending", "last_indexed_at": None}


def test_a_folder_below_a_link_is_synced_after_an_import(workspace, bundle, settings, linked):
    def restate(sqlite):
        (body,) = sqlite.execute("SELECT body FROM bundle_sources WHERE number = 1").fetchone()
        changed = {**json.loads(body), "kind": "folder", "config": {"path": str(linked)}}
        sqlite.execute("UPDATE bundle_sources SET body = ? WHERE number = 1", (json.dumps(changed).encode(),))

    settings.KEBAB_FOLDER_ROOTS = [linked.parent.resolve()]
    (linked / "a.md").write_text("# A\n\nA quay.\n")
    made = import_bundle(ImportRequest(file=forge(bundle, restate), slug="elsewhere"))
    source = Source.objects.get(workspace=made.workspace, key="docs")
    job = work(request_sync(source))

    assert (source.kind, source.config) == ("folder", {"path": str(linked.resolve())})
    assert (job.state, job.error) == ("succeeded", "")
    assert "a.md" in indexed(made.workspace)


def test_a_repository_below_a_link_is_read_after_an_import(linked):
    (linked / ".git" / "objects").mkdir(parents=True)
    given = row("git", url=file_url(linked), branch="main")
    fields, is_detached = source_fields(given, [linked.parent.resolve()])
    folder = read_address(fields["config"]["url"]).folder

    assert (is_detached, fields["config"]["branch"], folder) == (False, "main", linked.resolve())
    assert repository_url(folder) == file_url(linked.resolve() / ".git")


@pytest.mark.parametrize("path", ["srv/note s", "/etc", "/srv/\0", "", "."])
def test_a_folder_outside_the_roots_is_none(linked, monkeypatch, path):
    monkeypatch.chdir(linked.parent.parent)
    fields, is_detached = source_fields(row("folder", path=path), [Path(linked.parent.parent.resolve())])

    assert (is_detached, fields["kind"], fields["config"]) == (True, "upload", {})
