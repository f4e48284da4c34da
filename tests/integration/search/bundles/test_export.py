"""Exports: the file, its draft, and concurrent writers."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from ingest.blob_cleanup import release_blobs
from kebab.tenancy.current_workspace import acting_everywhere
from search.bundles import export
from search.bundles.errors import BundleExists
from search.bundles.export import _Export, export_bundle, open_draft
from search.bundles.importer import loader
from search.bundles.importer.importer import ImportRequest, import_bundle
from search.corpus import delete_documents
from search.corpus.blobs import has_blob
from search.models import Document


def test_export_replaces_a_file_only_when_asked(workspace, tmp_path):
    file = tmp_path / "all.kebab"
    export_bundle(workspace, file)
    with pytest.raises(BundleExists, match="--force"):
        export_bundle(workspace, file)
    # What an export that was killed has left goes; what another one writes stays.
    left = file.with_name(f".{file.name}.{'0' * 32}.tmp")
    left.write_bytes(b"half of it")
    with open_draft(file, replaces=True) as draft:
        assert export_bundle(workspace, file, replaces=True).documents == 13
        assert (draft.exists(), left.exists()) == (True, False)


def test_document_deleted_during_an_export_is_in_the_file_with_its_bytes(workspace, tmp_path, monkeypatch):
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


def test_bytes_are_copied_without_an_idle_timeout(workspace, tmp_path, monkeypatch):
    limits = {}

    def noting(name, whole):
        def note_timeout(*arguments):
            with connection.cursor() as cursor:
                cursor.execute("SHOW idle_in_transaction_session_timeout")
                limits[name] = cursor.fetchone()[0]
            return whole(*arguments)

        return note_timeout

    for module, name in ((export, "blob_pieces"), (loader, "store_blobs")):
        monkeypatch.setattr(module, name, noting(name, getattr(module, name)))
    export_bundle(workspace, tmp_path / "all.kebab")
    import_bundle(ImportRequest(file=tmp_path / "all.kebab", slug="elsewhere"))

    assert limits == {"blob_pieces": "0", "store_blobs": "0"}
