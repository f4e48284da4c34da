"""Damaged and forged bundles are refused before any part of them is used."""

import json
import random
import zlib

import apsw
import numpy as np
import pytest

from search.bundles.errors import BundleDamaged, BundleError, BundleRefused, NotABundle
from search.bundles.format.row_reader import BundleReader
from search.bundles.format.verify import Verifier
from tests.integration.search.bundles.forgeries import (
    bomb,
    execute,
    forge,
    put_body,
    put_chunk_fields,
    put_fields,
    vectors_with,
)

# What a forger changes, and a word by which the refusal names it.
FORGERIES = [
    ("vectors NaN", put_body("vectors", vectors_with(np.nan)), "not finite"),
    ("vectors infinite", put_body("vectors", vectors_with(np.inf)), "not finite"),
    ("vectors short", put_body("vectors", b"\0" * 128), "18 vectors"),
    ("vector ids cut", execute("UPDATE bundle_vectors SET chunk_ids = x'00'"), "16 bytes"),
    ("vector space", execute("UPDATE bundle_vectors SET space = 9"), "space 9"),
    ("vector ids alike", execute("UPDATE bundle_vectors SET chunk_ids = zeroblob(288)"), "in order"),
    (
        "vectors twice",
        execute("INSERT INTO bundle_vectors SELECT 2, body, chunk_ids, space FROM bundle_vectors"),
        "in order",
    ),
    ("space dim huge", put_fields("spaces", dim=100_000), "dim"),
    ("space dim wrong", put_fields("spaces", dim=63), "vectors"),
    ("space epoch", put_fields("spaces", epoch=2**60), "epoch"),
    ("chunks bomb", lambda connection: put_body("chunks", bomb())(connection), "unpacked"),
    ("chunks not packed", put_body("chunks", b"no zlib"), "unpacked"),
    ("chunk fields", put_body("chunks", zlib.compress(b'[{"text": 5}]')), "fields"),
    ("chunks no list", put_body("chunks", zlib.compress(b"{}")), "not a list"),
    ("span number", put_chunk_fields(source_spans=[5]), "source_spans"),
    ("span without kind", put_chunk_fields(source_spans=[{"start": 1, "end": 2}]), "source_spans"),
    ("span without lines", put_chunk_fields(source_spans=[{"kind": "line"}]), "source_spans"),
    (
        "span backwards",
        put_chunk_fields(source_spans=[{"kind": "line", "start": 3, "end": 2}]),
        "source_spans",
    ),
    ("chunks missing", execute("DELETE FROM bundle_chunks WHERE number = 2"), "row 2"),
    ("chunks elsewhere", execute("UPDATE bundle_chunks SET document = 77 WHERE number = 6"), "chunk"),
    ("head_seq", put_fields("workspace", head_seq=2**60), "head_seq"),
    ("corpus_id", put_fields("workspace", corpus_id="x"), "corpus_id"),
    ("no workspace", execute("DELETE FROM bundle_workspace"), "one workspace"),
    ("path outside", put_fields("documents", path="../../etc/passwd"), "path"),
    ("path absolute", put_fields("documents", path="/etc/passwd"), "path"),
    ("path of another", put_fields("documents", path="other.md"), "doc_id"),
    ("title NUL", put_fields("documents", title="a\0b"), "title"),
    ("title long", put_fields("documents", title="x" * 501), "title"),
    ("lang list", put_fields("documents", lang=["en"]), "lang"),
    ("version", put_fields("documents", version_number=4), "version 4"),
    ("doc_id", put_fields("documents", doc_id="f" * 32), "id"),
    ("content_hash path", put_fields("documents", content_hash="../" * 21 + "x"), "content_hash"),
    ("size negative", put_fields("documents", size_bytes=-1), "size_bytes"),
    ("size huge", put_fields("documents", size_bytes=2**63), "size_bytes"),
    ("time words", put_fields("documents", indexed_at="yesterday"), "indexed_at"),
    ("time without zone", put_fields("documents", indexed_at="2026-01-01T00:00:00"), "indexed_at"),
    ("unknown field", put_fields("documents", more=1), "fields"),
    ("metadata NaN", put_fields("documents", metadata={"n": float("nan")}), "NaN"),
    ("metadata surrogate", put_fields("documents", metadata={"half": "\ud800"}), "metadata"),
    ("metadata deep", put_body("documents", b'{"metadata": ' + b"[" * 100_000), "documents row 1"),
    ("no UTF-8", put_body("documents", b"\xff\xfe"), "documents row 1"),
    ("source key", put_fields("sources", key="../secrets"), "key"),
    ("source kind", put_fields("sources", kind="shell"), "kind"),
    (
        "number of 6,000 digits",
        put_body("sources", json.dumps({"n": 1}).replace("1", "9" * 6_000).encode()),
        "sources row 1",
    ),
    ("version's source", put_fields("versions", source_number=2), "row 2"),
    ("blob of other bytes", put_body("blobs", zlib.compress(b"others")), "other bytes"),
    ("blob order", execute("UPDATE bundle_blobs SET part = 2"), "order"),
    ("blob hash path", execute("UPDATE bundle_blobs SET hash = '../../../../tmp/x'"), "blobs row 1"),
    (
        "blob of nobody",
        execute("INSERT INTO bundle_blobs VALUES (2, x'789c030000000001', ?, 1)", "f" * 64),
        "other bytes",
    ),
]


def verify(path):
    with BundleReader(path) as reader:
        Verifier(reader).run()


def test_bundle_is_accepted_also_after_resealing(file):
    verify(file)
    verify(forge(file, lambda connection: None))


def test_each_changed_bit_is_detected(file, subtests):
    original = file.read_bytes()
    for seed in range(40):
        chance = random.Random(seed)
        content = bytearray(original)
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        file.write_bytes(content)
        with subtests.test(seed=seed), pytest.raises(BundleError):
            verify(file)


def test_truncated_and_lengthened_files_are_detected(file, subtests):
    original = file.read_bytes()
    for share in (0.0, 0.01, 0.3, 0.5, 0.9, 0.999):
        file.write_bytes(original[: int(len(original) * share)])
        with subtests.test(share=share), pytest.raises((BundleDamaged, NotABundle)):
            verify(file)
    file.write_bytes(original + b"\0")
    with pytest.raises(BundleDamaged):
        verify(file)


def test_damaged_section_is_named(file):
    connection = apsw.Connection(str(file))
    put_body("documents", b"{}", 2)(connection)
    connection.close()

    with pytest.raises(BundleDamaged, match="documents"):
        verify(file)


def test_forged_rows_are_refused_and_named(file, subtests):
    original = file.read_bytes()
    for name, change, message in FORGERIES:
        file.write_bytes(original)
        forged = forge(file, change)
        with subtests.test(case=name):
            with pytest.raises(BundleRefused, match=message) as refusal:
                verify(forged)
            assert str(forged) in str(refusal.value)


def test_document_with_too_many_bytes_unpacked_is_refused(file, monkeypatch):
    monkeypatch.setattr("search.bundles.format.row_reader.MAX_DOCUMENT_BYTES", 100)
    with pytest.raises(BundleRefused, match="100"):
        verify(file)


def test_wrong_count_in_the_manifest_is_refused(file):
    with pytest.raises(BundleRefused, match="chunks"):
        verify(forge(file, lambda connection: None, chunks=10**15))


def test_refusal_names_the_field_what_it_should_be_and_the_value(file):
    forged = forge(file, put_fields("sources", stars="many"))
    with pytest.raises(BundleRefused, match=r"sources row 1: stars: .*integer, not 'many'"):
        verify(forged)
