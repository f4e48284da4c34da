"""A source root above Kebab's own folders: nothing in those is found, listed, cited or downloaded."""

import json
from pathlib import Path

import pytest

from ingest.jobs.queue.request import request_sync
from kebab.health.process_checks import check_configuration
from kebab.stack.storage import private_places
from search.corpus import ensure_source
from search.models import Chunk, Document, Source
from tests.support.actors import token_client
from tests.support.api import address, run
from tests.support.corpus import make_workspace
from tests.support.jobs import work
from tests.support.stores import stores_in

pytestmark = pytest.mark.django_db(transaction=True)

_CANARY = "quokkasecret"
#: A folder of each kind that belongs to Kebab, below the root.
_PLACES = ("data", "stores/mirrors", "stores/blobs", "archive", "metrics", "backups")
_FILES = ("secrets.json", "deep/er/invitation.eml", "notes.md")


@pytest.fixture
def root(tmp_path, settings):
    """Create a folder with open documents, all of Kebab's own folders, and links to these."""
    root = tmp_path.resolve() / "srv"
    for place in _PLACES:
        for name in _FILES:
            file = root / place / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"# {_CANARY}\n\n{_CANARY} of {place}/{name}\n")
    docs = root / "docs"
    docs.mkdir()
    (docs / "open.md").write_text("# Wombat\n\nA wombat digs.\n")
    (docs / "way-in.md").symlink_to(root / "data" / "notes.md")
    (docs / "way-in").symlink_to(root / "data")
    for name, value in stores_in(root / "stores").items():
        setattr(settings, name, value)
    settings.KEBAB_FOLDER_ROOTS = [root]
    settings.KEBAB_DATA_DIR = root / "data"
    settings.KEBAB_METRICS_DIR = root / "metrics"
    settings.KEBAB_WAL_ARCHIVE = root / "archive"  # of an earlier version
    private_places.mark_private(root / "backups")
    return root


@pytest.fixture
def workspace(root):
    return make_workspace()


@pytest.fixture
def client(workspace):
    return token_client(workspace, "search", "ingest", "manage")


def add(client, workspace, key, kind="folder", **config):
    body = {"key": key, "kind": kind, "config": config}
    return client.post(address(workspace, "/sources"), body, format="json")


def test_kebabs_own_folders_are_not_read(client, workspace, root):
    source = add(client, workspace, "all", path=str(root)).json()
    job = run(workspace, client.post(address(workspace, f"/sources/{source['id']}/sync")))

    assert job.state == "succeeded"
    assert list(Document.objects.in_workspace(workspace).values_list("path", flat=True)) == ["docs/open.md"]
    report = client.get(address(workspace, f"/jobs/{job.pk}")).json()["report"]
    assert report["skipped_by_reason"]["private_place"] == len(_PLACES) + 2  # both links lead into one
    for mode in ("lexical", "vector", "hybrid"):
        body = {"q": _CANARY, "mode": mode}
        answer = client.post(address(workspace, "/search"), body, format="json")
        assert answer.status_code == 200
        assert _CANARY not in json.dumps(answer.json()["hits"])
    assert not Chunk.objects.in_workspace(workspace).filter(text__contains=_CANARY).exists()


def test_kebabs_own_folders_are_rejected_as_sources(client, workspace, root, subtests):
    outside = add(client, workspace, "x", path="/nowhere").json()["detail"]
    (root / "data" / "repository" / ".git").mkdir(parents=True)
    folders = [root / place for place in _PLACES]
    folders += [root / "data/deep/er", root / "docs/way-in", root / "data/repository", root / "data/missing"]
    for folder in folders:
        for kind, config in (("folder", {"path": str(folder)}), ("git", {"url": f"file://{folder}"})):
            with subtests.test(folder=folder.name, kind=kind):
                answer = add(client, workspace, "x", kind, **config)
                assert (answer.status_code, answer.json()["code"]) == (422, "folder_not_allowed")
                assert answer.json()["detail"].replace(str(folder), "/nowhere") == outside
    assert not Source.objects.in_workspace(workspace).exists()


@pytest.mark.parametrize("kind", ["folder", "git"])
def test_source_is_not_read_when_its_folder_becomes_kebabs_own(workspace, root, kind):
    folder = root / "data"
    (folder / ".git").mkdir()
    config = {"path": str(folder)} if kind == "folder" else {"url": f"file://{folder}"}
    job = work(request_sync(ensure_source(workspace, "old", kind=kind, config=config)))

    assert job.state == "failed"
    assert not Document.objects.in_workspace(workspace).exists()


@pytest.mark.parametrize("name", ["demo", "bench"])
def test_demo_and_bench_texts_are_read(workspace, root, name):
    folder = root / "data" / name
    folder.mkdir()
    (folder / "guide.md").write_text("# Guide\n\nA wombat digs.\n")
    (folder / "out.md").symlink_to(root / "data" / "notes.md")
    job = work(request_sync(ensure_source(workspace, "demo", kind="folder", config={"path": str(folder)})))

    assert job.state == "succeeded"
    assert list(Document.objects.in_workspace(workspace).values_list("path", flat=True)) == ["guide.md"]


def test_marker_file_keeps_the_folder_private_for_other_nodes(root, settings, tmp_path):
    private_places.mark_own_folders()
    settings.KEBAB_DATA_DIR = settings.KEBAB_MIRROR_DIR = tmp_path
    settings.KEBAB_WAL_ARCHIVE = None
    places = private_places.PrivateFolders.find()

    assert all(places.contains(root / place / "notes.md") for place in ("data", "stores/mirrors", "archive"))
    assert not private_places.PrivateFolders(frozenset()).contains(root / "docs")


def test_doctor_names_roots_above_and_below_kebabs_own_folders(root, settings):
    settings.KEBAB_FOLDER_ROOTS = [root / "docs"]
    assert not private_places.exposed_folders()
    settings.KEBAB_FOLDER_ROOTS = [root, root / "archive" / "deep"]
    exposed = {(str(above), place.name) for above, place in private_places.exposed_folders()}
    result = check_configuration()

    assert {(str(root), Path(place).name) for place in _PLACES if place != "backups"} <= exposed
    assert (str(root / "archive" / "deep"), "archive") in exposed
    assert (result.status, str(root) in result.detail) == ("warning", True)
