"""Imports: taken names, later writes, and refusals that leave nothing behind."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from django.db import OperationalError, connection

from ingest.jobs.queue import hints
from kebab.errors import Conflict
from kebab.health.checks import CheckStatus
from kebab.identity.models import AuditEvent, Membership, User, Workspace
from kebab.people.operator import command_line_access
from kebab.people.workspaces import delete_workspace
from kebab.tenancy.current_workspace import acting_everywhere
from kebab.tenancy.roles import owner_connection
from search.analysis import UNSTEMMED_WORDS, register_tokenizer
from search.bundles.errors import BundleDamaged, BundleRefused, ImportUnderWay
from search.bundles.export import export_bundle
from search.bundles.format.layout import APPLICATION_ID
from search.bundles.format.verify import check_digests
from search.bundles.importer import importer
from search.bundles.importer import loader as loading
from search.bundles.importer.importer import ImportRequest, import_bundle
from search.bundles.importer.loader import Loader
from search.corpus import DocumentLocation, ensure_source, ensure_version, replace_document
from search.corpus.blobs import has_blob
from search.corpus.content_ids import document_id
from search.embedders.hash_embedder import HashEmbedder
from search.mirror.checks import check_coverage, check_mirrors
from search.mirror.schema import create_sql
from search.models import Change, Document, EmbeddingSpace
from tests.integration.kebab.backup.doctor import statuses
from tests.integration.search.bundles.factories import rows_of
from tests.integration.search.bundles.forgeries import forge
from tests.support.corpus import draft, make_workspace, write
from tests.support.search import ask, paths, sync


def bring_in(sample, slug="elsewhere", **options):
    return import_bundle(ImportRequest(file=sample.file, slug=slug, **options))


def files(blobs):
    return sum(path.is_file() for path in blobs.rglob("*"))


def assert_bytes_are_kept(workspace):
    hashes = Document.objects.in_workspace(workspace).values_list("content_hash", flat=True)
    assert [hash_ for hash_ in hashes if not has_blob(workspace.pk, hash_)] == []


def test_import_embeds_nothing_and_its_mirror_equals_postgres(sample, monkeypatch):
    def refuse(*_):
        raise AssertionError("something was embedded")

    monkeypatch.setattr(HashEmbedder, "embed_passages", refuse)
    monkeypatch.setattr(HashEmbedder, "embed_query", refuse)
    imported = bring_in(sample).workspace

    assert [check.status for check in check_mirrors(False)] == [CheckStatus.OK]
    assert {check.status for check in check_coverage(False)} == {CheckStatus.OK}
    assert EmbeddingSpace.objects.filter(workspace=imported, state="live").exists()


def test_bundle_with_the_index_of_an_early_release_is_imported(sample):
    def add_index(connection):
        register_tokenizer(connection)
        connection.execute(create_sql(UNSTEMMED_WORDS))
        connection.pragma("application_id", APPLICATION_ID | 1)

    index = {"rows": 12, "digest": "ab" * 32}
    forge(sample.file, add_index, index_file_version=11, index_versions=["fts5.v11", "hash@1"], index=index)

    assert paths(ask(bring_in(sample).workspace, "vault dawn")) == []
    assert {check.status for check in check_coverage(False)} == {CheckStatus.OK}


def test_imported_workspace_takes_and_mirrors_writes(sample):
    imported = bring_in(sample).workspace
    before = imported.head_seq
    source = ensure_source(imported, "docs", kind="upload")
    place = DocumentLocation(
        workspace=imported, source=source, version=ensure_version(source), path="later.md"
    )
    written = replace_document(place, draft("A kingfisher sat on the mast."))
    assert written.seq == Change.objects.filter(workspace=imported).count() + before - 1
    updated = write(imported, "vault.md", "Another text.", source="secrets")
    sync(imported)

    assert (updated.outcome, updated.seq) == ("updated", before + 2)
    assert updated.doc_id == document_id(imported.corpus_id, "secrets", "", "vault.md")
    assert paths(ask(imported, "kingfisher")) == ["later.md"]


def test_taken_slug_is_refused_and_another_or_a_free_one_is_not(sample):
    user = User.objects.create_user("ada@example.org")
    first = bring_in(sample, owner=user).workspace
    first_id = first.pk
    assert Membership.objects.get(workspace=first).user == user
    with pytest.raises(Conflict) as caught:
        bring_in(sample)
    assert caught.value.code == "slug_taken"
    other = bring_in(sample, "another", name="Another").workspace

    assert other.name == "Another"
    assert rows_of(other) == rows_of(first) == sample.rows
    delete_workspace(command_line_access(first))
    assert bring_in(sample).workspace.pk != first_id


def test_empty_workspace_makes_the_round_trip(transactional_db, mirrors, blobs, tmp_path):
    export_bundle(make_workspace(), tmp_path / "empty.kebab")
    imported = import_bundle(ImportRequest(file=tmp_path / "empty.kebab", slug="hollow")).workspace

    assert (imported.slug, imported.head_seq, ask(imported, "anything").hits) == ("hollow", 0, ())


# --- Refusals leave nothing -------------------------------------------------------------------------------


def _group_twice(sqlite):
    """Write a group twice: each row is right, together they can't be."""
    sqlite.execute(
        "INSERT INTO bundle_groups (number, body) SELECT 2, body FROM bundle_groups WHERE number = 1"
    )


def _vector_of_no_chunk(sqlite):
    """Change the last byte of a vector's chunk id."""
    ((number, ids),) = sqlite.execute("SELECT number, chunk_ids FROM bundle_vectors").fetchall()
    other = ids[:-1] + bytes([ids[-1] ^ 1])
    sqlite.execute("UPDATE bundle_vectors SET chunk_ids = ? WHERE number = ?", (other, number))


def _flip_a_bit(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


REFUSED = [
    (lambda file: forge(file, _group_twice), BundleRefused, "group_name_once"),
    (lambda file: forge(file, _vector_of_no_chunk), BundleRefused, "chunk"),
    (_flip_a_bit, BundleDamaged, None),
]


def test_damaged_bundle_and_rows_that_do_not_fit_each_other_leave_nothing(sample, blobs, subtests):
    original = sample.file.read_bytes()
    for number, (damage, error, message) in enumerate(REFUSED):
        sample.file.write_bytes(original)
        damage(sample.file)
        with subtests.test(case=number):
            with pytest.raises(error, match=message):
                bring_in(sample)
            assert (Workspace.objects.count(), Document.objects.count(), files(blobs)) == (0, 0, 0)
            assert not AuditEvent.objects.exists()


def test_full_disk_is_noticed_before_anything_is_written(sample, blobs, monkeypatch):
    monkeypatch.setattr(importer.shutil, "disk_usage", lambda _: SimpleNamespace(free=10))
    with pytest.raises(BundleRefused):
        bring_in(sample)
    assert files(blobs) == 0


def test_import_with_a_lost_connection_leaves_its_bytes_to_the_next(sample, blobs, monkeypatch):
    def cut(loader):
        monkeypatch.undo()
        loader._load_blobs()
        with connection.cursor() as cursor, owner_connection() as owner:
            cursor.execute("SELECT pg_backend_pid()")
            owner.execute("SELECT pg_terminate_backend(%s)", cursor.fetchone())
        loader.run()

    monkeypatch.setattr(Loader, "run", cut)
    with pytest.raises(OperationalError):
        bring_in(sample)

    assert (Workspace.objects.count(), files(blobs)) == (0, 13)
    assert_bytes_are_kept(bring_in(sample).workspace)
    assert files(blobs) == 13


BEFORE_THE_COMMIT = (
    "import_workspace",
    "import_blobs",
    "import_sources",
    "import_documents",
    "import_vectors",
    "import_before_commit",
)


def test_import_that_ends_before_its_commit_leaves_nothing(sample, blobs, monkeypatch, subtests):
    def end_at(failpoint):
        def exit_at(name):
            if name == failpoint:
                raise SystemExit(failpoint)

        return exit_at

    for failpoint in BEFORE_THE_COMMIT:
        for module in (importer, loading):
            monkeypatch.setattr(module, "reach", end_at(failpoint))
        with subtests.test(failpoint=failpoint):
            with pytest.raises(SystemExit, match=failpoint):
                bring_in(sample)
            assert (Workspace.objects.count(), Document.objects.count(), files(blobs)) == (0, 0, 0)


def test_import_that_ended_before_its_index_gets_it_from_the_next(sample, monkeypatch, settings):
    settings.KEBAB_EXACT_SCAN_LIMIT = 10

    def end(*_):
        raise SystemExit

    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(importer, "finish_import", end)
        bring_in(sample)
    space = EmbeddingSpace.objects.get(workspace__slug="elsewhere")
    assert not space.is_indexed

    again = bring_in(sample)

    space.refresh_from_db()
    assert (again.was_finished, space.is_indexed) == (True, True)
    with pytest.raises(Conflict):
        bring_in(sample)


# --- Imports beside each other ----------------------------------------------------------------------------


def call_in_thread(call):
    """Call in another thread, with its own connection."""

    @acting_everywhere()
    def run():
        try:
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as executor:
        return executor.submit(run).result()


def test_second_import_under_the_slug_is_refused_while_the_first_runs(sample, monkeypatch):
    made, refusals = importer._create_workspace, []

    def meanwhile(*arguments):
        monkeypatch.undo()
        with pytest.raises(ImportUnderWay) as caught:
            call_in_thread(lambda: bring_in(sample))
        refusals.append(caught.value.code)
        return made(*arguments)

    monkeypatch.setattr(importer, "_create_workspace", meanwhile)
    bring_in(sample)

    assert refusals == ["import_under_way"]
    assert Workspace.objects.get().slug == "elsewhere"


def test_import_finished_while_another_waits_keeps_its_bytes(sample, monkeypatch):
    prepare = importer._prepare

    def late(*arguments):
        monkeypatch.setattr(importer, "_prepare", prepare)
        call_in_thread(lambda: bring_in(sample))
        prepare(*arguments)

    monkeypatch.setattr(importer, "_prepare", late)
    with pytest.raises(Conflict) as caught:
        bring_in(sample)

    assert caught.value.code == "slug_taken"
    assert_bytes_are_kept(Workspace.objects.get(slug="elsewhere"))


def test_doctor_spares_the_bytes_of_an_import_that_is_under_way(sample, monkeypatch, settings, tmp_path):
    settings.KEBAB_DATA_DIR = tmp_path / "data"
    hints._redis().delete("none", *hints._redis().scan_iter("kebab:cursor*"))  # which other tests left
    monkeypatch.setattr("ingest.checks.leftovers._PATIENCE_S", 0.0)
    seen = []

    def run_doctor_and_check(reader):
        seen.append(call_in_thread(lambda: statuses("leftovers", repair=True)))
        check_digests(reader)

    monkeypatch.setattr(importer, "check_digests", run_doctor_and_check)
    imported = bring_in(sample).workspace

    assert seen == [{"ok"}]
    assert_bytes_are_kept(imported)
