"""Reader of a bundle's rows, with validation of each row against the format's sections."""

import uuid
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from search.bundles.errors import BundleRefused
from search.bundles.format.layout import MAX_DOCUMENT_BYTES, MAX_ROW_BYTES, SECTIONS, select_statement
from search.bundles.format.manifest import Manifest, read_manifest
from search.bundles.format.open_bundle import RowDigest, open_bundle, translate_damage
from search.bundles.format.sections import section_rows
from search.bundles.format.values import HashText, integer, read_json, row_from_json, rows_of
from search.bundles.rows import parse_ids, parse_matrix

Row = dict[str, Any]
_PIECES = rows_of({"hash": HashText, "part": integer(least=1)})


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A document with its chunks in order."""

    number: int
    values: Row
    chunks: list[Row]


@dataclass(frozen=True, slots=True)
class VectorRow:
    """Vectors of some chunks in one space."""

    space_number: int
    chunk_ids: list[uuid.UUID]
    #: (n, dim) float16
    matrix: np.ndarray


@dataclass(frozen=True, slots=True)
class BlobPiece:
    """A piece of a document's bytes; `part` counts from 1."""

    hash: str
    part: int
    body: bytes


class BundleReader:
    """Reader of a bundle of format 1, which validates every row that it returns.

    Every row that is read is added to its section's digest in `digests`.
    """

    def __init__(self, path: Path) -> None:
        """Open the bundle. Raises the errors of `open_bundle` and `read_manifest`."""
        self.path = path
        self.connection = open_bundle(path)
        with translate_damage(path):
            self.manifest: Manifest = read_manifest(self.connection)
        self.digests = {section: RowDigest() for section in SECTIONS}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def small_rows(self, section: str) -> Iterator[tuple[int, Row]]:
        """Yield the rows of a small section with their numbers."""
        rows = section_rows(section)
        for number, body in self._rows(section):
            with self._translate_errors(section, number):
                row = row_from_json(rows, read_json(_require_bytes(body)))
            yield number, row

    def documents(self) -> Iterator[DocumentRow]:
        """Yield the documents with their chunks, in the order of their numbers."""
        chunks = _RowsByDocument(self._chunk_rows())
        for number, body, doc_id in self._rows("documents"):
            with self._translate_errors("documents", number):
                values = row_from_json(section_rows("documents"), read_json(_require_bytes(body)))
                if values["doc_id"].hex != doc_id:
                    raise ValueError("its id differs from its row's")
                rows = [row for rows in chunks.of(number) for row in rows]
            yield DocumentRow(number, values, rows)
        if chunks.has_more():
            raise BundleRefused(f"{self.path} is refused: chunks: a row is of no document.")

    def _chunk_rows(self) -> Iterator[tuple[int, list[Row]]]:
        previous, size_bytes = 0, 0
        for number, body, document in self._rows("chunks"):
            with self._translate_errors("chunks", number):
                chunk_body = _unpack(_require_bytes(body))
                size_bytes = len(chunk_body) + (size_bytes if document == previous else 0)
                if size_bytes > MAX_DOCUMENT_BYTES:
                    raise ValueError(f"its document has more than {MAX_DOCUMENT_BYTES} bytes unpacked")
                rows = _parse_chunk_rows(chunk_body)
            previous = document
            yield document, rows

    def vectors(self, dims: Mapping[int, int]) -> Iterator[VectorRow]:
        """Yield the vectors; `dims` are the dimensions of the spaces by number."""
        for number, body, ids, space in self._rows("vectors"):
            with self._translate_errors("vectors", number):
                if space not in dims:
                    raise ValueError(f"there is no space {space}")
                chunk_ids = parse_ids(_require_bytes(ids))
                matrix = parse_matrix(_require_bytes(body), count=len(chunk_ids), dim=dims[space])
            yield VectorRow(space, chunk_ids, matrix)

    def blobs(self) -> Iterator[BlobPiece]:
        """Yield the bytes of documents, piece by piece."""
        for number, body, hash_, part in self._rows("blobs"):
            with self._translate_errors("blobs", number):
                values = row_from_json(_PIECES, {"hash": hash_, "part": part})
                piece = BlobPiece(**values, body=_unpack(_require_bytes(body)))
            yield piece

    def _rows(self, section: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a section from its beginning, checking that numbers have no gaps."""
        digest = self.digests[section] = RowDigest()
        with translate_damage(self.path):
            for row in self.connection.execute(select_statement(section), (0,)):
                digest.add(row)
                if row[0] != digest.rows:
                    raise BundleRefused(f"{self.path} is refused: {section}: row {digest.rows} is missing.")
                yield row

    @contextmanager
    def _translate_errors(self, section: str, number: int) -> Iterator[None]:
        """Translate a ValueError to BundleRefused with the row's location."""
        try:
            yield
        except ValueError as error:
            raise BundleRefused(f"{self.path} is refused: {section} row {number}: {error}.") from error


class _RowsByDocument:
    """Rows of chunks by document number; documents must be requested in ascending order."""

    def __init__(self, rows: Iterator[tuple[int, list[Row]]]) -> None:
        self._rows = rows
        self._next = next(rows, None)

    def of(self, document: int) -> Iterator[list[Row]]:
        while self._next is not None and self._next[0] == document:
            yield self._next[1]
            self._next = next(self._rows, None)

    def has_more(self) -> bool:
        return self._next is not None


def _parse_chunk_rows(body: bytes) -> list[Row]:
    """Parse the chunks of an uncompressed row. Raises ValueError."""
    rows = read_json(body)
    if not isinstance(rows, list):
        raise ValueError("is not a list of chunks")
    return [row_from_json(section_rows("chunks"), row) for row in rows]


def _unpack(body: bytes) -> bytes:
    """Decompress a row's body up to the size limit. Raises ValueError."""
    unpacker = zlib.decompressobj()
    try:
        found = unpacker.decompress(body, MAX_ROW_BYTES)
    except zlib.error as error:
        raise ValueError(f"can't be unpacked: {error}") from error
    if not unpacker.eof:
        raise ValueError(f"is cut off, or has more than {MAX_ROW_BYTES} bytes unpacked")
    return found


def _require_bytes(value: object) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError(f"{type(value).__name__} in the place of bytes")
    return value
