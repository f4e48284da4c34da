"""Reading the rows of a bundle, each checked: by format, so that what was once written is read for ever."""

import uuid
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import apsw
import numpy as np

from search.bundles.errors import BundleRefused
from search.bundles.format.layout import MAX_DOCUMENT_BYTES, MAX_ROW_BYTES, SECTIONS, select_of
from search.bundles.format.manifest import Manifest, read_manifest
from search.bundles.format.open_bundle import naming_damage, open_bundle
from search.bundles.format.seal import RowDigest
from search.bundles.format.sections import SECTIONS_BY_NAME
from search.bundles.format.values import Whole, hash_text, read_json, taken
from search.bundles.rows.vectors import ids_of, matrix_of

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A document with its chunks, in order."""

    number: int
    values: Row
    chunks: list[Row]


@dataclass(frozen=True, slots=True)
class VectorRow:
    """Vectors of some chunks in one space."""

    space_number: int
    chunk_ids: list[uuid.UUID]
    #: (n, dim) halves
    matrix: np.ndarray


@dataclass(frozen=True, slots=True)
class BlobPiece:
    """A part of a document's bytes, from 1."""

    hash: str
    part: int
    body: bytes


class BundleReader:
    """Reads a bundle of format 1. What it gives has been checked, row by row; it trusts nothing else.

    Every row that is read is added to its section's digest in `digests`.
    """

    def __init__(self, path: Path) -> None:
        """Raises what `open_bundle` and `read_manifest` raise."""
        self.path = path
        self._connection = open_bundle(path)
        with naming_damage(path):
            self.manifest: Manifest = read_manifest(self._connection)
        self.digests = {section: RowDigest() for section in SECTIONS}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    @property
    def connection(self) -> apsw.Connection:
        """Return what the file is read by."""
        return self._connection

    def small_rows(self, section: str) -> Iterator[tuple[int, Row]]:
        """Return the rows of a section of which each is one JSON object, with their numbers."""
        fields = SECTIONS_BY_NAME[section].fields
        for number, body in self._rows(section):
            with self._naming(section, number):
                row = taken(fields, read_json(_bytes(body)))
            yield number, row

    def documents(self) -> Iterator[DocumentRow]:
        """Return the documents with their chunks, in the order of their numbers."""
        fields = SECTIONS_BY_NAME["documents"].fields
        chunks = _Grouped(self._chunk_rows())
        for number, body, doc_id in self._rows("documents"):
            with self._naming("documents", number):
                values = taken(fields, read_json(_bytes(body)))
                if values["doc_id"].hex != doc_id:
                    raise ValueError("its id is not that of its row")
                rows = [row for rows in chunks.of(number) for row in rows]
            yield DocumentRow(number, values, rows)
        if chunks.left():
            raise BundleRefused(f"{self.path} is refused: chunks: a row is of no document.")

    def _chunk_rows(self) -> Iterator[tuple[int, list[Row]]]:
        before, size_bytes = 0, 0
        for number, body, document in self._rows("chunks"):
            with self._naming("chunks", number):
                unpacked_body = unpacked(_bytes(body))
                size_bytes = len(unpacked_body) + (size_bytes if document == before else 0)
                _check_size(size_bytes)
                rows = chunk_rows(unpacked_body)
            before = document
            yield document, rows

    def vectors(self, dims: Mapping[int, int]) -> Iterator[VectorRow]:
        """Return the vectors; `dims` are the spaces' by their numbers."""
        for number, body, ids, space in self._rows("vectors"):
            with self._naming("vectors", number):
                if space not in dims:
                    raise ValueError(f"there is no space {space}")
                chunk_ids = ids_of(_bytes(ids))
                matrix = matrix_of(_bytes(body), count=len(chunk_ids), dim=dims[space])
            yield VectorRow(space, chunk_ids, matrix)

    def blobs(self) -> Iterator[BlobPiece]:
        """Return the bytes of documents, piece by piece."""
        for number, body, hash_, part in self._rows("blobs"):
            with self._naming("blobs", number):
                piece = BlobPiece(
                    hash_text().taken(hash_), Whole(least=1).taken(part), unpacked(_bytes(body))
                )
            yield piece

    def _rows(self, section: str) -> Iterator[tuple[Any, ...]]:
        """Read a section from its beginning, numbered without a hole."""
        digest = self.digests[section] = RowDigest()
        with naming_damage(self.path):
            for row in self._connection.execute(select_of(section), (0,)):
                digest.add(row)
                if row[0] != digest.rows:
                    raise BundleRefused(f"{self.path} is refused: {section}: row {digest.rows} is missing.")
                yield row

    def _naming(self, section: str, number: int) -> "_Naming":
        return _Naming(self.path, f"{section} row {number}")


class _Naming:
    """Raises BundleRefused, with the place, for a ValueError."""

    def __init__(self, path: Path, place: str) -> None:
        self._path = path
        self._place = place

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if isinstance(error, ValueError):
            raise BundleRefused(f"{self._path} is refused: {self._place}: {error}.") from error


class _Grouped:
    """Rows by the document that they are of, which only grows."""

    def __init__(self, rows: Iterator[tuple[int, list[Row]]]) -> None:
        self._rows = rows
        self._next = next(rows, None)

    def of(self, document: int) -> Iterator[list[Row]]:
        while self._next is not None and self._next[0] == document:
            yield self._next[1]
            self._next = next(self._rows, None)

    def left(self) -> bool:
        return self._next is not None


def chunk_rows(body: bytes) -> list[Row]:
    """Return the chunks of a row that is unpacked. Raises ValueError."""
    rows = read_json(body)
    if not isinstance(rows, list):
        raise ValueError("is no list of chunks")
    fields = SECTIONS_BY_NAME["chunks"].fields
    return [taken(fields, row) for row in rows]


def within_document(bodies: Iterable[bytes]) -> Iterator[bytes]:
    """Return the unpacked rows of one document's chunks. Raises ValueError where they are too many bytes."""
    size_bytes = 0
    for body in bodies:
        size_bytes += len(body)
        _check_size(size_bytes)
        yield body


def _check_size(size_bytes: int) -> None:
    if size_bytes > MAX_DOCUMENT_BYTES:
        raise ValueError(f"its document has more than {MAX_DOCUMENT_BYTES} bytes unpacked")


def unpacked(body: bytes) -> bytes:
    """Return what was compressed, within the limit. Raises ValueError."""
    unpacker = zlib.decompressobj()
    try:
        found = unpacker.decompress(body, MAX_ROW_BYTES)
    except zlib.error as error:
        raise ValueError(f"can't be unpacked: {error}") from error
    if not unpacker.eof:
        raise ValueError(f"is cut off, or has more than {MAX_ROW_BYTES} bytes unpacked")
    return found


def _bytes(value: object) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError(f"{type(value).__name__} in the place of bytes")
    return value
