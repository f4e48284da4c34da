"""What a workspace held before an export, the workspace of its import holds and answers."""

import stat
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from ingest.blobs import release_blobs
from kebab.api.errors import Conflict
from kebab.health.checks import CheckStatus
from kebab.people.models import AuditEvent, Membership, User, Workspace
from kebab.tenancy.acting import acting_everywhere
from search.blobs import has_blob, read_blob
from search.bundles import export, loading
from search.bundles.errors import BundleExists
from search.bundles.export import _Export, export_bundle
from search.bundles.importing import ImportRequest, import_bundle
from search.bundles.manifest import manifest_digest
from search.bundles.writing import draft_of
from search.checks import check_coverage, check_mirrors
from search.corpus import Place, delete_documents, ensure_source, ensure_version, replace_document
from search.embedders.hashing import HashEmbedder
from search.models import Change, Document, EmbeddingSpace, Source, SourceReader
from search.retrieval.types import Mode
from search.retrieval.wire import hit_to_wire
from tests.integration.search.bundles.making import QUERIES, rows_of
from tests.support.corpus import draft, make_workspace, write
from tests.support.searching import ask, paths, sync


def wire(workspace, text, mode):
    return [hit_to_wire(hit) for hit in ask(workspace, text, mode, k=30).hits]


def test_all_rows_come_back(workspace, imported):
    assert rows_of(imported) == rows_of(workspace)


def test_settings_name_and_corpus_come_back(workspace, imported):
    assert imported.settings == {"default_k": 7}
    assert (imported.name, imported.corpus_id) == (workspace.name, workspace.corpus_id)


@pytest.mark.parametrize("mode", list(Mode))
def test_hits_are_the_same_to_the_last_digit(workspace, imported, mode):
    for text in QUERIES:
        if mode is Mode.HYBRID and text.startswith("'"):
            continue
        assert wire(imported, text, mode) == wire(workspace, text, mode), text


def test_nothing_is_embedded_for_an_import(bundle, monkeypatch):
    def refuse(*_):
        raise AssertionError("something was embedded")

    monkeypatch.setattr(HashEmbedder, "embed_passages", refuse)
    monkeypatch.setattr(HashEmbedder, "embed_query", refuse)

    imported = import_bundle(ImportRequest(file=bundle, slug="elsewhere")).workspace

    assert all(check.status == CheckStatus.OK for check in check_coverage(False))
    assert EmbeddingSpace.objects.filter(workspace=imported, state="live").exists()


def test_the_mirror_of_an_import_equals_postgres(imported):
    assert [check.status for check in check_mirrors(False)] == [CheckStatus.OK] * 2


def test_documents_keep_their_bytes(workspace, imported):
    hashes = list(Document.objects.filter(workspace=imported).values_list("content_hash", flat=True))

    for hash_ in hashes:
        assert read_blob(imported.pk, hash_) == read_blob(workspace.pk, hash_)


def test_what_is_written_later_is_followed(imported):
    source = ensure_source(imported, "docs", kind="upload")
    place = Place(workspace=imported, source=source, version=ensure_version(source), path="later.md")
    written = replace_document(place, draft("A kingfisher sat on the mast."))
    sync(imported)

    assert paths(ask(imported, "kingfisher")) == ["later.md"]
    assert written.seq == Change.objects.filter(workspace=imported).count() + imported.head_seq - 1


def test_the_same_document_again_changes_nothing(workspace, imported):
    before = imported.head_seq
    written = write(imported, "vault.md", "Another text.", source="secrets")

    assert (written.outcome, written.seq) == ("updated", before + 1)
    assert written.doc_id == Document.objects.get(workspace=workspace, path="vault.md").doc_id


def test_a_restricted_source_stays_restricted_and_has_no_reader_yet(imported):
    source = Source.objects.get(workspace=imported, key="secrets")
    reader = SourceReader.objects.get(workspace=imported, source=source)

    assert source.is_restricted
    assert (reader.group.name, reader.group.members.count(), reader.group.tokens.count()) == ("keepers", 0, 0)
    # Who reads what is open to all finds nothing of it.
    assert "vault.md" not in paths(ask(imported, "vault dawn"))


def test_only_its_owner_may_read_the_file(bundle):
    assert stat.S_IMODE(bundle.stat().st_mode) == 0o600


def test_no_file_stays_beside_the_bundle(bundle):
    assert list(bundle.parent.glob("*.kebab*")) == [bundle]
    assert not list(bundle.parent.glob(".*"))


def test_an_export_replaces_a_file_only_when_asked(workspace, bundle):
    with pytest.raises(BundleExists, match="--force"):
        export_bundle(workspace, bundle)
    manifest = export_bundle(workspace, bundle, replaces=True)

    assert manifest.documents == 13


def test_a_draft_that_a_killed_export_left_goes_with_the_next(workspace, bundle):
    left = bundle.with_name(f".{bundle.name}.{'0' * 32}.tmp")
    left.write_bytes(b"half of it")
    export_bundle(workspace, bundle, replaces=True)
    assert not left.exists()


def test_a_draft_that_another_export_writes_stays(workspace, bundle):
    with draft_of(bundle, replaces=True) as draft:
        export_bundle(workspace, bundle, replaces=True)
        assert draft.exists()


def test_documents_that_go_while_they_are_exported_are_in_the_file_with_their_bytes(
    workspace, tmp_path, monkeypatch
):
    gone = Document.objects.in_workspace(workspace).get(path="guides/003.md")
    write_vectors = _Export._write_vectors

    def meanwhile(self, *arguments):
        with ThreadPoolExecutor(1) as beside:
            beside.submit(_delete, gone).result()
        return write_vectors(self, *arguments)

    monkeypatch.setattr(_Export, "_write_vectors", meanwhile)
    manifest = export_bundle(workspace, tmp_path / "all.kebab")
    imported = import_bundle(ImportRequest(file=tmp_path / "all.kebab", slug="elsewhere")).workspace

    assert (manifest.blobs_missing, has_blob(imported.pk, gone.content_hash)) == (0, True)
    assert release_blobs(workspace.pk, [gone.content_hash]) == 1  # as the hourly look does


def _delete(document):
    try:
        with acting_everywhere():
            delete_documents(document.workspace, [document.doc_id])
            assert release_blobs(document.workspace_id, [document.content_hash]) == 0
    finally:
        connection.close()


@pytest.mark.parametrize("verb", ["export", "import"])
def test_bytes_may_take_as_long_as_they_do(workspace, tmp_path, monkeypatch, verb):
    limits = []

    def asked(*arguments):
        with connection.cursor() as cursor:
            cursor.execute("SHOW idle_in_transaction_session_timeout")
            limits.extend(cursor.fetchone())
        return whole(*arguments)

    module, name = (export, "blob_pieces") if verb == "export" else (loading, "keep_blobs")
    whole = getattr(module, name)
    monkeypatch.setattr(module, name, asked)
    export_bundle(workspace, tmp_path / "all.kebab")
    import_bundle(ImportRequest(file=tmp_path / "all.kebab", slug="elsewhere"))

    assert set(limits) == {"0"}


def test_a_slug_that_is_taken_is_refused(workspace, bundle):
    with pytest.raises(Conflict, match="taken"):
        import_bundle(ImportRequest(file=bundle, slug=workspace.slug))


def test_a_second_import_under_the_same_slug_is_refused(bundle, imported):
    with pytest.raises(Conflict, match="taken"):
        import_bundle(ImportRequest(file=bundle, slug="elsewhere"))


def test_one_bundle_becomes_several_workspaces(workspace, bundle, imported):
    other = import_bundle(ImportRequest(file=bundle, slug="another", name="Another")).workspace

    assert other.name == "Another"
    assert rows_of(other) == rows_of(imported)


def test_a_workspace_that_was_deleted_gives_its_id_to_no_other(bundle, imported):
    from kebab.people.deletion import delete_workspace
    from kebab.people.operator import the_operator

    before = imported.pk
    delete_workspace(the_operator(imported))
    again = import_bundle(ImportRequest(file=bundle, slug="elsewhere")).workspace

    assert again.pk != before


def test_an_owner_may_be_named(bundle):
    user = User.objects.create_user("ada@example.org")
    imported = import_bundle(ImportRequest(file=bundle, slug="elsewhere", owner=user)).workspace

    assert Membership.objects.get(workspace=imported).user == user


def test_an_import_is_in_the_audit(bundle, imported):
    event = AuditEvent.objects.get(workspace=imported, action="workspace.imported")

    assert len(event.detail["digest"]) == 64


def test_an_import_of_an_import_is_the_same_bundle_but_for_its_names(workspace, imported, tmp_path):
    first = export_bundle(workspace, tmp_path / "one.kebab")
    second = export_bundle(imported, tmp_path / "two.kebab")
    differing = {name for name in first.sections if first.sections[name] != second.sections[name]}

    # Slug and ids of sources are others; `meta` in the index names the workspace.
    assert differing == {"workspace", "sources", "index"}
    assert manifest_digest(first) != manifest_digest(second)


def test_an_empty_workspace_goes_round(transactional_db, patience, tmp_path):
    empty = make_workspace()
    export_bundle(empty, tmp_path / "empty.kebab")
    imported = import_bundle(ImportRequest(file=tmp_path / "empty.kebab", slug="hollow")).workspace

    assert (imported.head_seq, ask(imported, "anything").hits) == (0, ())
    assert Workspace.objects.filter(slug="hollow").exists()
