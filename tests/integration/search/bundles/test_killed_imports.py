"""An import that is killed leaves nothing to be seen, and the next one brings in all of it."""

import json
import os
import random
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import SimpleNamespace

import psycopg
import pytest
from django.conf import settings as django_settings
from django.db import OperationalError, connection

from ingest.jobs import hints
from kebab.api.errors import Conflict
from kebab.people.models import AuditEvent, Group, Workspace
from kebab.tenancy.acting import acting_everywhere
from kebab.tenancy.owner import owner_connection
from search.blobs import has_blob
from search.bundles import importing
from search.bundles.errors import BundleDamaged, BundleRefused, ImportUnderWay
from search.bundles.importing import ImportRequest, import_bundle
from search.bundles.loading import Loader
from search.bundles.under_way import lock_key
from search.bundles.verifying import check_digests
from search.models import Chunk, ChunkVector, Document, EmbeddingSpace, Source, Topic
from tests.integration.kebab.keeping.diagnosing import statuses
from tests.integration.search.bundles.by_hand import forge
from tests.integration.search.bundles.making import rows_of
from tests.support.stack import eventually

IMPORT = """
import sys, django
from django.conf import settings
settings.STORAGES["default"]["OPTIONS"] = {"location": sys.argv[2]}
django.setup()
from django.db import connections
for alias in ("default", "owner"):
    connections[alias].settings_dict["NAME"] = sys.argv[1]
from pathlib import Path
from kebab.tenancy.acting import acting_everywhere
from search.bundles.importing import ImportRequest, import_bundle
print("begins", flush=True)
with acting_everywhere():
    import_bundle(ImportRequest(file=Path(sys.argv[3]), slug="elsewhere"))
"""
BEFORE_THE_COMMIT = (
    "import_workspace",
    "import_blobs",
    "import_sources",
    "import_documents",
    "import_vectors",
    "import_before_commit",
)
TENANTS = (Group, Source, Document, Chunk, EmbeddingSpace, ChunkVector, Topic)


def begin(bundle, blobs, mirrors, **environment):
    """Import the bundle in another process."""
    own = {"DJANGO_SETTINGS_MODULE": "kebab.settings", "KEBAB_MIRROR_DIR": str(mirrors)}
    arguments = [sys.executable, "-c", IMPORT, connection.settings_dict["NAME"], str(blobs), str(bundle)]
    return subprocess.Popen(
        arguments,
        env={**os.environ, **own, **environment},
        cwd=django_settings.BASE_DIR,
        stdout=subprocess.PIPE,
    )


def ended(process):
    try:
        return process.wait(120)
    finally:
        process.stdout.close()
        process.kill()


def counts():
    return [model.objects.count() for model in TENANTS]


@pytest.mark.parametrize("failpoint", BEFORE_THE_COMMIT)
def test_nothing_is_there_before_all_is(workspace, bundle, blobs, mirrors, failpoint):
    before = counts()
    killed = ended(begin(bundle, blobs, mirrors, KEBAB_FAILPOINT=failpoint))
    assert killed == -signal.SIGKILL
    assert counts() == before
    assert not Workspace.objects.filter(slug="elsewhere").exists()
    eventually(_is_alone, "the killed one's transaction is over", 30)

    imported = import_bundle(ImportRequest(file=bundle, slug="elsewhere")).workspace

    assert rows_of(imported) == rows_of(workspace)
    # It has taken up the bytes that were kept by then.
    assert {path.name for path in blobs.iterdir()} == {str(workspace.pk), str(imported.pk)}


def test_a_kill_behind_the_commit_leaves_all_of_it(workspace, bundle, blobs, mirrors):
    assert ended(begin(bundle, blobs, mirrors, KEBAB_FAILPOINT="import_committed")) == -signal.SIGKILL

    imported = Workspace.objects.get(slug="elsewhere")
    assert rows_of(imported) == rows_of(workspace)
    with pytest.raises(Conflict):
        import_bundle(ImportRequest(file=bundle, slug="elsewhere"))


def test_a_large_import_that_was_killed_gets_its_index_from_the_next(
    workspace, bundle, blobs, mirrors, settings
):
    settings.KEBAB_EXACT_SCAN_LIMIT = 10
    killed = begin(bundle, blobs, mirrors, KEBAB_FAILPOINT="import_committed", KEBAB_EXACT_SCAN_LIMIT="10")
    assert ended(killed) == -signal.SIGKILL
    space = EmbeddingSpace.objects.get(workspace__slug="elsewhere")
    assert not space.is_indexed

    again = import_bundle(ImportRequest(file=bundle, slug="elsewhere"))

    space.refresh_from_db()
    assert (again.was_finished, space.is_indexed) == (True, True)
    with pytest.raises(Conflict):
        import_bundle(ImportRequest(file=bundle, slug="elsewhere"))


@pytest.mark.parametrize("seed", range(4))
def test_a_kill_at_any_moment_leaves_all_or_nothing(workspace, bundle, blobs, mirrors, seed):
    luck = random.Random(seed)
    before = counts()
    process = begin(bundle, blobs, mirrors)
    process.stdout.readline()
    with suppress(subprocess.TimeoutExpired):
        process.wait(luck.random() * 0.5)
    process.kill()
    ended(process)
    eventually(_is_alone, "the killed one's transaction is over", 30)
    found = Workspace.objects.filter(slug="elsewhere").first()
    if found is None:
        assert counts() == before
        found = import_bundle(ImportRequest(file=bundle, slug="elsewhere")).workspace

    assert rows_of(found) == rows_of(workspace)


def _is_alone():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND state <> 'idle'"
        )
        return cursor.fetchone()[0] == 0


def _with_twins(sqlite):
    """Name a document's chunk twice: what each row says is right, together they can't be."""
    sqlite.execute(
        "INSERT INTO bundle_groups (number, body) SELECT 2, body FROM bundle_groups WHERE number = 1"
    )


def test_rows_that_postgres_refuses_leave_nothing(workspace, bundle, blobs):
    before = counts()

    with pytest.raises(BundleRefused, match="group_name_once"):
        import_bundle(ImportRequest(file=forge(bundle, _with_twins), slug="elsewhere"))
    assert counts() == before
    assert not Workspace.objects.filter(slug="elsewhere").exists()
    assert sum(path.is_file() for path in blobs.rglob("*")) == 13


def test_a_damaged_bundle_leaves_nothing(workspace, bundle, blobs):
    before = counts()
    content = bytearray(bundle.read_bytes())
    content[len(content) // 2] ^= 1
    bundle.write_bytes(content)

    with pytest.raises(BundleDamaged):
        import_bundle(ImportRequest(file=bundle, slug="elsewhere"))
    assert counts() == before
    assert [path.name for path in blobs.iterdir()] == [str(workspace.pk)]
    assert not AuditEvent.objects.filter(action="workspace.imported").exists()


def test_two_imports_of_one_bundle_under_one_slug_make_one_workspace(
    workspace, bundle, blobs, mirrors, monkeypatch
):
    refused = []

    def meanwhile(*arguments):
        monkeypatch.undo()
        process = begin(bundle, blobs, mirrors)
        refused.append(ended(process))
        return importing._made(*arguments)

    monkeypatch.setattr(importing, "_made", meanwhile)
    import_bundle(ImportRequest(file=bundle, slug="elsewhere"))

    assert refused == [1]
    assert Workspace.objects.filter(slug="elsewhere").count() == 1


def test_an_import_that_ended_before_this_one_had_the_lock_keeps_its_bytes(
    workspace, bundle, blobs, mirrors, monkeypatch
):
    def late(*arguments):
        monkeypatch.undo()
        assert ended(begin(bundle, blobs, mirrors)) == 0
        importing._prepare(*arguments)

    monkeypatch.setattr(importing, "_prepare", late)
    with pytest.raises(Conflict, match="taken"):
        import_bundle(ImportRequest(file=bundle, slug="elsewhere"))

    assert_bytes_are_kept(Workspace.objects.get(slug="elsewhere"))


def test_a_doctor_lets_the_bytes_be_that_an_import_is_bringing_in(
    workspace, bundle, blobs, monkeypatch, settings, tmp_path
):
    settings.KEBAB_DATA_DIR = tmp_path / "data"
    hints._redis().delete("none", *hints._redis().scan_iter("kebab:cursor*"))  # which other tests left
    monkeypatch.setattr("ingest.leftover_checks._PATIENCE_S", 0.0)
    seen = []

    def with_a_doctor(reader):
        with ThreadPoolExecutor(1) as beside:
            seen.append(beside.submit(_diagnosed).result())
        check_digests(reader)

    monkeypatch.setattr(importing, "check_digests", with_a_doctor)
    imported = import_bundle(ImportRequest(file=bundle, slug="elsewhere")).workspace

    assert seen == [{"ok"}]
    assert_bytes_are_kept(imported)


def _diagnosed():
    try:
        with acting_everywhere():
            return statuses("leftovers", repair=True)
    finally:
        connection.close()


def assert_bytes_are_kept(workspace):
    hashes = Document.objects.in_workspace(workspace).values_list("content_hash", flat=True)
    assert [hash_ for hash_ in hashes if not has_blob(workspace.pk, hash_)] == []


def test_an_import_whose_connection_is_cut_leaves_its_bytes_to_the_next(
    workspace, bundle, blobs, monkeypatch
):
    def cut(loader):
        monkeypatch.undo()
        loader._load_blobs()
        with connection.cursor() as cursor, owner_connection() as owner:
            cursor.execute("SELECT pg_backend_pid()")
            owner.execute("SELECT pg_terminate_backend(%s)", cursor.fetchone())
        loader.run()

    monkeypatch.setattr(Loader, "run", cut)
    with pytest.raises(OperationalError):
        import_bundle(ImportRequest(file=bundle, slug="elsewhere"))

    assert sum(path.is_file() for path in blobs.rglob("*")) == 26
    assert_bytes_are_kept(import_bundle(ImportRequest(file=bundle, slug="elsewhere")).workspace)


def test_a_vector_of_no_chunk_is_refused_though_half_of_its_id_is_right(workspace, bundle):
    def change(sqlite):
        ((number, ids),) = sqlite.execute("SELECT number, chunk_ids FROM bundle_vectors").fetchall()
        other = ids[:-1] + bytes([ids[-1] ^ 1])
        sqlite.execute("UPDATE bundle_vectors SET chunk_ids = ? WHERE number = ?", (other, number))

    with pytest.raises(BundleRefused, match="is of no chunk"):
        import_bundle(ImportRequest(file=forge(bundle, change), slug="elsewhere"))


def test_bytes_that_do_not_fit_on_the_disk_are_refused_before_any_is_written(
    workspace, bundle, blobs, monkeypatch
):
    monkeypatch.setattr(importing.shutil, "disk_usage", lambda _: SimpleNamespace(free=10))
    with pytest.raises(BundleRefused, match=r"0\.0 GB are free"):
        import_bundle(ImportRequest(file=bundle, slug="elsewhere"))
    assert [path.name for path in blobs.iterdir()] == [str(workspace.pk)]


def test_an_import_that_another_has_in_hand_says_so(workspace, bundle):
    from search.bundles.reading import BundleReader

    with BundleReader(bundle) as reader:
        id_ = importing._free_id("elsewhere", reader.manifest)
    details = connection.get_connection_params()
    with psycopg.connect(
        host=details["host"], port=details.get("port"), user=details["user"], dbname=details["dbname"]
    ) as other:
        other.execute("SELECT pg_advisory_lock(%s)", [lock_key(id_)])
        with pytest.raises(ImportUnderWay):
            import_bundle(ImportRequest(file=bundle, slug="elsewhere"))


def test_a_source_is_taken_off_a_folder_that_nobody_allowed_here(workspace, bundle, settings, tmp_path):
    def restate(key, config):
        def change(sqlite):
            (body,) = sqlite.execute("SELECT body FROM bundle_sources WHERE number = 1").fetchone()
            row = {**json.loads(body), "kind": "folder", "config": config, "sync_every_minutes": 5}
            sqlite.execute("UPDATE bundle_sources SET body = ? WHERE number = 1", (json.dumps(row).encode(),))

        return change

    settings.KEBAB_FOLDER_ROOTS = [tmp_path / "allowed"]
    allowed = str(tmp_path / "allowed" / "notes")
    forged = forge(bundle, restate("docs", {"path": "/etc"}))
    one = import_bundle(ImportRequest(file=forged, slug="one"))
    two = import_bundle(ImportRequest(file=forge(bundle, restate("docs", {"path": allowed})), slug="two"))

    found = [Source.objects.get(workspace=each.workspace, key="docs") for each in (one, two)]
    assert [(each.kind, each.config) for each in found] == [("upload", {}), ("folder", {"path": allowed})]
    assert (one.detached, two.detached) == (("docs",), ())
    # Nothing is read before somebody asks for it.
    assert [(each.watch, each.next_sync_at) for each in found] == [(False, None)] * 2
