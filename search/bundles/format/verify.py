"""Verification of a bundle before use: every byte, every row, and the references between rows."""

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any

import numpy as np
from blake3 import blake3

from search.bundles.errors import BundleDamaged, BundleError, BundleRefused
from search.bundles.format.layout import SECTIONS, SMALL_SECTIONS, select_statement
from search.bundles.format.open_bundle import RowDigest, check_bytes, translate_damage
from search.bundles.format.row_reader import BlobPiece, BundleReader, DocumentRow
from search.bundles.progress import Progress
from search.bundles.rows import REFERENCES
from search.corpus.content_ids import chunk_ids, document_id, embed_hash
from search.models import SpaceState


@dataclass(slots=True)
class Verifier:
    """Verifier of a whole bundle, in one pass."""

    reader: BundleReader
    on_progress: Progress = lambda *_: None
    #: Uncompressed size of all blobs.
    blob_bytes: int = 0
    _versions: dict[int, tuple[str, str]] = field(default_factory=dict)
    _spaces: dict[int, int] = field(default_factory=dict)
    _hashes: set[str] = field(default_factory=set)
    _chunk_ids: bytearray = field(default_factory=bytearray)

    def run(self) -> None:
        """Verify the bundle. Raises BundleDamaged and BundleRefused, naming the problem."""
        self._check_bytes()
        self._check_small()
        self._check_documents()
        self._check_vectors()
        self._check_blobs()
        check_digests(self.reader)

    def _check_bytes(self) -> None:
        total, done = self.reader.path.stat().st_size, 0

        def on_bytes(count: int) -> None:
            nonlocal done
            done += count
            self.on_progress("reading", done, total)

        try:
            check_bytes(self.reader.path, on_bytes)
        except BundleDamaged as damage:
            wrong = ", ".join(_find_damage(self.reader)) or "nothing that would be read"
            raise BundleDamaged(f"{damage} What differs: {wrong}.") from damage

    def _check_small(self) -> None:
        sources: dict[int, str] = {}
        counts: dict[str, int] = {}
        for section in SMALL_SECTIONS:
            for number, row in self.reader.small_rows(section):
                counts[section] = number
                self._check_references(section, number, row, counts)
                if section == "sources":
                    sources[number] = row["key"]
                elif section == "versions":
                    self._versions[number] = (sources[row["source_number"]], row["tag"])
                elif section == "spaces":
                    self._spaces[number] = row["dim"]
                    if row["state"] == SpaceState.RETIRED and row["retire_at"] is None:
                        raise self._refusal("spaces", number, "is retired, and not said until when it stays")
        if counts.get("workspace") != 1:
            raise BundleRefused(f"{self.reader.path} is refused: it is not of one workspace.")

    def _check_references(
        self, section: str, number: int, row: Mapping[str, Any], counts: Mapping[str, int]
    ) -> None:
        for name, (_, target) in REFERENCES.items():
            named = row.get(name)
            if named is not None and named > counts.get(target, 0):
                raise self._refusal(section, number, f"{name}: there is no row {named} in {target}")

    def _check_documents(self) -> None:
        manifest = self.reader.manifest
        corpus_id = next(row["corpus_id"] for _, row in self.reader.small_rows("workspace"))
        for document in self.reader.documents():
            try:
                self._check_document(document, corpus_id)
            except ValueError as error:
                raise self._refusal("documents", document.number, str(error)) from error
            self.on_progress("documents", document.number, manifest.documents)
        if len(self._chunk_ids) != 16 * manifest.chunks:
            raise BundleRefused(f"{self.reader.path} is refused: it has not as many chunks as it says.")

    def _check_document(self, document: DocumentRow, corpus_id: uuid.UUID) -> None:
        values, chunks = document.values, document.chunks
        if values["version_number"] not in self._versions:
            raise ValueError(f"there is no version {values['version_number']}")
        key, tag = self._versions[values["version_number"]]
        _check_path(values["path"])
        if document_id(corpus_id, key, tag, values["path"]) != values["doc_id"]:
            raise ValueError("doc_id: does not follow from its source, version and path")
        found = chunk_ids(values["doc_id"], values["chunker_version"], (row["text"] for row in chunks))
        if list(found) != [row["chunk_id"] for row in chunks]:
            raise ValueError("chunk_id: does not follow from its text")
        if any(embed_hash(row["breadcrumb"], row["text"]) != row["embed_hash"] for row in chunks):
            raise ValueError("embed_hash: does not follow from its text")
        self._hashes.add(values["content_hash"])
        for row in chunks:
            self._chunk_ids += row["chunk_id"].bytes

    def _check_vectors(self) -> None:
        chunk_heads = np.sort(np.frombuffer(bytes(self._chunk_ids), ">u8").reshape(-1, 2)[:, 0])
        before: dict[int, bytes] = {}
        done = 0
        for number, row in enumerate(self.reader.vectors(self._spaces), start=1):
            ids = [chunk_id.bytes for chunk_id in row.chunk_ids]
            # Ids ascend over all rows of a space, so that none occurs twice.
            in_order = [before.get(row.space_number, b""), *ids]
            if any(one >= other for one, other in pairwise(in_order)):
                raise self._refusal("vectors", number, "chunk_ids: not in order")
            # Only the first half of an id is compared here; an import compares all of it.
            heads = np.frombuffer(b"".join(ids), ">u8").reshape(-1, 2)[:, 0]
            indices = np.searchsorted(chunk_heads, heads)
            if (
                not len(chunk_heads)
                or (chunk_heads[np.minimum(indices, len(chunk_heads) - 1)] != heads).any()
            ):
                raise self._refusal("vectors", number, "chunk_ids: one is of no chunk")
            before[row.space_number] = ids[-1]
            done += len(ids)
            self.on_progress("vectors", done, self.reader.manifest.vectors)

    def _check_blobs(self) -> None:
        total = len(self._hashes)
        for done, (hash_, pieces) in enumerate(group_blobs(self.reader), start=1):
            hasher = blake3()
            for piece in pieces:
                hasher.update(piece.body)
                self.blob_bytes += len(piece.body)
            if hasher.hexdigest() != hash_:
                raise BundleRefused(f"{self.reader.path} is refused: blobs: {hash_[:16]}… has other bytes.")
            if hash_ not in self._hashes:
                raise BundleRefused(f"{self.reader.path} is refused: no document has the blob {hash_[:16]}….")
            self._hashes.discard(hash_)
            self.on_progress("files", done, total)

    def _refusal(self, section: str, number: int, reason: str) -> BundleRefused:
        return BundleRefused(f"{self.reader.path} is refused: {section} row {number}: {reason}.")


def _check_path(path: str) -> None:
    """Refuse paths that lead outside a source; connectors check everything else."""
    if not path or path.startswith("/") or {".", ".."} & set(path.split("/")):
        raise ValueError(f"the path {path[:80]!r} is none of a document")


def group_blobs(reader: BundleReader) -> Iterator[tuple[str, Iterator[BlobPiece]]]:
    """Yield each blob's hash with its pieces, which must be consumed before the next blob.

    Raises BundleRefused when a part is missing or a blob occurs twice.
    """
    return groupby(_check_order(reader), key=lambda piece: piece.hash)


def _check_order(reader: BundleReader) -> Iterator[BlobPiece]:
    last, part = "", 0
    for piece in reader.blobs():
        part = part + 1 if piece.hash == last else 1
        if piece.part != part or piece.hash < last:
            raise BundleRefused(f"{reader.path} is refused: blobs: {piece.hash[:16]}… is not in its order.")
        last = piece.hash
        yield piece


def check_digests(reader: BundleReader) -> None:
    """Compare the digests of all sections read with the manifest. Raises BundleDamaged."""
    for section in SECTIONS:
        _compare(reader, section, reader.digests[section])


def _compare(reader: BundleReader, section: str, found: RowDigest) -> None:
    expected = reader.manifest.sections[section]
    if (found.rows, found.hexdigest()) != (expected.rows, expected.digest):
        raise BundleDamaged(f"{reader.path} is damaged: {section} is not what was written. Copy it again.")


def _find_damage(reader: BundleReader) -> Iterator[str]:
    """Yield the names of the damaged sections."""
    for section in SECTIONS:
        digest = RowDigest()
        try:
            with translate_damage(reader.path):
                for row in reader.connection.execute(select_statement(section), (0,)):
                    digest.add(row)
            _compare(reader, section, digest)
        except BundleError:
            yield section
