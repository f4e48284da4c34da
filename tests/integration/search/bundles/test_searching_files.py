"""Searches in a bundle file without a database: intact, forged, on a read-only medium."""

import apsw
import numpy as np
import pytest

from search.bundles.errors import BundleError, BundleRefused
from search.bundles.search.pipeline import SearchableBundle
from search.retrieval.types import SearchQuery
from tests.integration.search.bundles.forgeries import (
    bomb,
    execute,
    forge,
    put_body,
    put_fields,
    vectors_with,
)

FORGERIES = {
    "index": execute("UPDATE chunks_fts_data SET block = randomblob(200)"),
    "postings": execute("UPDATE postings SET entries = randomblob(7)"),
    "lengths": execute("UPDATE blocks SET lengths = x'00'"),
    "chunks of no document": execute("UPDATE chunks SET doc = 99"),
    "document ids": execute("UPDATE documents SET doc_id = doc_id || 'x'"),
    "no meta": execute("DELETE FROM meta"),
    "document body": put_body("documents", b"{}"),
    "chunks bomb": lambda connection: put_body("chunks", bomb())(connection),
    "vectors NaN": put_body("vectors", vectors_with(np.nan)),
    "settings": put_fields("workspace", settings={"default_k": "many", "fusion": 5}),
    "no workspace": execute("DELETE FROM bundle_workspace"),
    "no versions": execute("DELETE FROM bundle_versions"),
    "no chunks": execute("DELETE FROM bundle_chunks"),
}
TEXTS = ("harbour lighthouse", "'harbour'", "`Guide`", "harbuor")


def search(path, text):
    bundle = SearchableBundle(path)
    try:
        return bundle.search(SearchQuery(text=text))
    finally:
        bundle.close()


def test_forged_bundle_answers_or_is_refused_by_name(file, subtests):
    original = file.read_bytes()
    for name, change in FORGERIES.items():
        file.write_bytes(original)
        forged = forge(file, change)
        for text in TEXTS:
            with subtests.test(case=name, text=text):
                try:
                    search(forged, text)
                except BundleError as error:
                    assert str(forged) in str(error)


def test_search_on_a_read_only_medium_writes_nothing(file):
    file.chmod(0o400)
    file.parent.chmod(0o500)
    before = file.read_bytes()
    assert search(file, "harbour lighthouse").hits
    file.parent.chmod(0o700)

    assert file.read_bytes() == before
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_search_unpacks_no_more_of_a_document_than_an_import(file, monkeypatch):
    monkeypatch.setattr("search.bundles.format.row_reader.MAX_DOCUMENT_BYTES", 100)
    with pytest.raises(BundleRefused, match="100"):
        search(file, "lighthouse")


def test_search_that_exhausts_the_memory_of_sqlite_is_refused(file, monkeypatch):
    def run_out_of_memory(bundle, query):
        raise apsw.NoMemError("out of memory")

    monkeypatch.setattr("search.bundles.search.pipeline.run_search", run_out_of_memory)
    with pytest.raises(BundleRefused):
        search(file, "harbour")
