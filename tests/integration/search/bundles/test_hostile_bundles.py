"""A bundle that is damaged, or that a forger made, is refused before anything of it is used."""

import json
import random
import sqlite3
import zlib

import apsw
import numpy as np
import pytest

from search.bundles.errors import (
    BundleDamaged,
    BundleError,
    BundleRefused,
    BundleTooNew,
    BundleUnreadable,
    NotABundle,
)
from search.bundles.reading import BundleReader
from search.bundles.searching import SearchableBundle
from search.bundles.verifying import Verifier
from search.retrieval.types import SearchQuery
from tests.integration.search.bundles.by_hand import (
    CHUNKS_OF_EACH,
    DOCUMENTS,
    forge,
    put_body,
    put_chunk_fields,
    put_fields,
    write_by_hand,
)


@pytest.fixture
def file(tmp_path):
    return write_by_hand(tmp_path / "hand.kebab")


def verify(path):
    with BundleReader(path) as reader:
        Verifier(reader).run()


def run(sql, *values):
    return lambda connection: connection.execute(sql, values)


def test_what_was_written_is_taken(file):
    verify(file)


def test_what_is_forged_without_a_change_is_taken(file):
    verify(forge(file, lambda connection: None))


@pytest.mark.parametrize("seed", range(40))
def test_a_bit_that_is_another_is_seen(file, seed):
    luck = random.Random(seed)
    content = bytearray(file.read_bytes())
    content[luck.randrange(len(content))] ^= 1 << luck.randrange(8)
    file.write_bytes(content)

    with pytest.raises(BundleError):
        verify(file)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.5, 0.9, 0.999])
def test_a_file_that_is_cut_off_is_seen(file, share):
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * share)])

    with pytest.raises((BundleDamaged, NotABundle)):
        verify(file)


def test_a_byte_too_many_is_seen(file):
    file.write_bytes(file.read_bytes() + b"\0")

    with pytest.raises(BundleDamaged, match="something was added"):
        verify(file)


def test_the_section_that_is_damaged_is_named(file):
    connection = apsw.Connection(str(file))
    put_body("documents", b"{}", 2)(connection)
    connection.close()

    with pytest.raises(BundleDamaged, match="documents"):
        verify(file)


def test_no_file_is_said_to_be_none(tmp_path):
    with pytest.raises(BundleUnreadable, match="No such file"):
        BundleReader(tmp_path / "none.kebab")
    with pytest.raises(BundleUnreadable):
        BundleReader(tmp_path)


@pytest.mark.parametrize("content", [b"", b"words", b"PK\3\4" * 100, b"SQLite format 3\0" + bytes(500)])
def test_a_file_of_another_kind_is_refused(tmp_path, content):
    (tmp_path / "other").write_bytes(content)

    with pytest.raises((NotABundle, BundleDamaged)):
        BundleReader(tmp_path / "other")


def test_another_database_is_refused(tmp_path):
    from search.bundles.seal import seal

    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE notes (words TEXT)")
    other.close()
    seal(tmp_path / "other.db")

    with pytest.raises(NotABundle, match="another SQLite database"):
        BundleReader(tmp_path / "other.db")


def test_a_format_of_a_later_release_is_refused(file):
    with pytest.raises(BundleTooNew, match="format 2"):
        BundleReader(forge(file, run("PRAGMA user_version = 2")))


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE VIEW more AS SELECT 1",
        "CREATE TRIGGER t AFTER INSERT ON bundle_groups BEGIN DELETE FROM bundle_groups; END",
        "ALTER TABLE bundle_groups ADD COLUMN more TEXT",
        "DROP TABLE bundle_runs; CREATE VIEW bundle_runs AS SELECT 1 AS number, x'7b7d' AS body",
        "ALTER TABLE bundle_topics RENAME TO topics",
    ],
)
def test_tables_of_another_making_are_refused(file, sql):
    original = file.read_bytes()
    length = len(original) - 48
    file.write_bytes(original[:length])
    connection = apsw.Connection(str(file))
    from search.analysis import register_tokenizer

    register_tokenizer(connection)
    connection.execute(sql)
    connection.close()
    from search.bundles.seal import seal

    seal(file)

    with pytest.raises(BundleRefused, match=r"tables|views"):
        BundleReader(file)


def test_a_number_of_changes_after_which_none_fits_is_refused(file):
    with pytest.raises(BundleRefused, match="seq"):
        BundleReader(forge(file, lambda connection: None, seq=2**60))


def test_a_search_unpacks_no_more_of_a_document_than_an_import(file, monkeypatch):
    monkeypatch.setattr("search.bundles.reading.MAX_DOCUMENT_BYTES", 100)
    bundle = SearchableBundle(file)
    with pytest.raises(BundleRefused, match="100 bytes"):
        bundle.search(SearchQuery(text="lighthouse"))
    bundle.close()


BOMB = zlib.compress(b"[" + b" " * 200_000_000 + b"]")
N_VECTORS = DOCUMENTS * CHUNKS_OF_EACH


def vectors(value):
    halves = np.zeros((N_VECTORS, 64), "<f2")
    halves[3, 5] = value
    return halves.tobytes()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (put_body("vectors", vectors(np.nan)), "not finite"),
        (put_body("vectors", vectors(np.inf)), "not finite"),
        (put_body("vectors", b"\0" * 128), "not 18 vectors of 64"),
        (run("UPDATE bundle_vectors SET chunk_ids = x'00'"), "16 bytes"),
        (run("UPDATE bundle_vectors SET space = 9"), "no space 9"),
        (run("UPDATE bundle_vectors SET chunk_ids = zeroblob(288)"), "not in order"),
        (run("INSERT INTO bundle_vectors SELECT 2, body, chunk_ids, space FROM bundle_vectors"), "in order"),
        (put_fields("spaces", dim=100_000), "dim"),
        (put_fields("spaces", dim=63), "vectors"),
        (put_body("chunks", BOMB), "unpacked"),
        (put_body("chunks", b"no zlib"), "unpacked"),
        (put_body("chunks", zlib.compress(b'[{"text": 5}]')), "fields"),
        (put_body("chunks", zlib.compress(b"{}")), "no list"),
        (put_chunk_fields(source_spans=[5]), "source_spans"),
        (put_chunk_fields(source_spans=[{"start": 1, "end": 2}]), "source_spans"),
        (put_chunk_fields(source_spans=[{"kind": "line"}]), "source_spans"),
        (put_chunk_fields(source_spans=[{"kind": "line", "start": 3, "end": 2}]), "source_spans"),
        (put_fields("workspace", head_seq=2**60), "head_seq"),
        (put_fields("spaces", epoch=2**60), "epoch"),
        (run("DELETE FROM bundle_chunks WHERE number = 2"), "row 2 is missing"),
        (run("UPDATE bundle_chunks SET document = 77 WHERE number = 6"), "chunk"),
        (put_fields("documents", path="../../etc/passwd"), "path"),
        (put_fields("documents", path="/etc/passwd"), "path"),
        (put_fields("documents", path="a#b.md"), "path"),
        (put_fields("documents", path="other.md"), "doc_id"),
        (put_fields("documents", title="a\0b"), "title"),
        (put_fields("documents", title="x" * 501), "title"),
        (put_fields("documents", lang=["en"]), "lang"),
        (put_fields("documents", version_number=4), "version 4"),
        (put_fields("documents", doc_id="f" * 32), "id"),
        (put_fields("documents", content_hash="../" * 21 + "x"), "content_hash"),
        (put_fields("documents", size_bytes=-1), "size_bytes"),
        (put_fields("documents", size_bytes=2**63), "size_bytes"),
        (put_fields("documents", indexed_at="yesterday"), "indexed_at"),
        (put_fields("documents", indexed_at="2026-01-01T00:00:00"), "indexed_at"),
        (put_fields("documents", more=1), "fields"),
        (put_fields("documents", metadata={"n": float("nan")}), "NaN"),
        (put_fields("documents", metadata={"half": "\ud800"}), "metadata"),
        (put_body("documents", b'{"metadata": ' + b"[" * 100_000), "documents row 1"),
        (put_body("documents", b"\xff\xfe"), "documents row 1"),
        (put_fields("sources", key="../secrets"), "key"),
        (put_fields("sources", kind="shell"), "kind"),
        (put_fields("versions", source_number=2), "no row 2 in sources"),
        (put_fields("workspace", corpus_id="x"), "corpus_id"),
        (run("DELETE FROM bundle_workspace"), "one workspace"),
        (put_body("blobs", zlib.compress(b"others")), "other bytes"),
        (run("UPDATE bundle_blobs SET part = 2"), "order"),
        (run("UPDATE bundle_blobs SET hash = '../../../../tmp/x'"), "blobs row 1"),
        (
            run("INSERT INTO bundle_blobs VALUES (2, x'789c030000000001', ?, 1)", "f" * 64),
            "other bytes",
        ),
    ],
)
def test_rows_that_no_export_writes_are_refused_and_named(file, change, what):
    forged = forge(file, change)

    with pytest.raises(BundleRefused, match=what) as refusal:
        verify(forged)
    assert str(forged) in str(refusal.value)


def test_counts_that_are_not_true_are_refused(file):
    with pytest.raises(BundleRefused, match="chunks"):
        verify(forge(file, lambda connection: None, chunks=10**15))


@pytest.mark.parametrize(
    "manifest", [{"format": 7}, {"documents": -1}, {"slug": 5}, {"more": 1}, {"sections": {}}]
)
def test_a_manifest_that_no_export_writes_is_refused(file, manifest):
    with pytest.raises(BundleRefused, match="manifest"):
        BundleReader(forge(file, lambda connection: None, **manifest))


@pytest.mark.parametrize(
    "change",
    [
        run("UPDATE chunks_fts_data SET block = randomblob(200)"),
        run("UPDATE postings SET entries = randomblob(7)"),
        run("UPDATE blocks SET lengths = x'00'"),
        run("UPDATE chunks SET doc = 99"),
        run("UPDATE documents SET doc_id = doc_id || 'x'"),
        run("DELETE FROM meta"),
        put_body("documents", b"{}"),
        put_body("chunks", BOMB),
        put_body("vectors", vectors(np.nan)),
        put_fields("workspace", settings={"default_k": "many", "fusion": 5}),
        run("DELETE FROM bundle_workspace"),
        run("DELETE FROM bundle_versions"),
        run("DELETE FROM bundle_chunks"),
    ],
)
@pytest.mark.parametrize("text", ["harbour lighthouse", "'harbour'", "`Guide`", "harbuor"])
def test_a_search_of_a_forged_bundle_answers_or_refuses(file, change, text):
    forged = forge(file, change)
    try:
        found = SearchableBundle(forged)
        try:
            found.search(SearchQuery(text=text))
        finally:
            found.close()
    except BundleError as error:
        assert str(forged) in str(error)


def test_a_bundle_is_searched_on_a_medium_that_takes_no_writes(file):
    file.chmod(0o400)
    file.parent.chmod(0o500)
    before = file.read_bytes()
    found = SearchableBundle(file)
    assert found.search(SearchQuery(text="harbour lighthouse")).hits
    found.close()
    file.parent.chmod(0o700)

    assert file.read_bytes() == before
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_a_json_number_of_any_length_is_refused_or_read(file):
    body = json.dumps({"n": 1}).replace("1", "9" * 6_000).encode()

    with pytest.raises(BundleRefused):
        verify(forge(file, put_body("sources", body)))


def test_what_leads_sqlite_out_of_its_memory_is_refused(file, monkeypatch):
    def exhausted(bundle, query):
        raise apsw.NoMemError("out of memory")

    monkeypatch.setattr(SearchableBundle, "_search", exhausted)
    found = SearchableBundle(file)
    with pytest.raises(BundleRefused, match="can't be searched"):
        found.search(SearchQuery(text="harbour"))
    found.close()
