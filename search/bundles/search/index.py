"""The index of a bundle: its own tables, or tables built from its rows if it is of another release."""

import tempfile
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import NoReturn

import apsw

from search.analysis import Analysis
from search.bundles.errors import BundleDamaged
from search.bundles.format.open_bundle import has_readable_index, open_bundle
from search.bundles.format.row_reader import BundleReader, DocumentRow
from search.bundles.rows.documents import build_document_state
from search.mirror import connections, schema
from search.mirror.connections import ReaderPool
from search.mirror.query.raw_match import register_bm25
from search.mirror.sync.apply import Applier
from search.mirror.sync.snapshot import DocumentState


class BundleIndex:
    """Stand-in for a mirror's files in searches, with one permanent file."""

    def __init__(
        self, reader: BundleReader, analysis: Analysis, versions: Mapping[int, tuple[str, str]]
    ) -> None:
        """`versions` are source key and tag by number. Building an index takes as long as for a mirror."""
        self._bundle = reader.path
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if has_readable_index(reader.connection):
            self._path, opener = reader.path, _open_own
        else:
            self._folder = tempfile.TemporaryDirectory(prefix="kebab-bundle-")
            self._path, opener = Path(self._folder.name) / "index.sqlite3", connections.open_reader
            _build_index(self._path, reader, analysis, versions)
        #: Pool of connections to the index.
        self.pool = ReaderPool(
            open_file=opener, translate=nullcontext
        )  # a bundle that can't be read is damaged

    def current(self) -> Path:
        """Return the index file."""
        return self._path

    def withdraw(self, generation: Path) -> NoReturn:
        """Raise BundleDamaged, because there is no other index file."""
        raise BundleDamaged(f"The index in {self._bundle} is damaged. Copy the bundle again.")

    def close(self) -> None:
        """Close the connections, and delete a built index."""
        self.pool.close()
        if self._folder is not None:
            self._folder.cleanup()


def _open_own(path: Path) -> apsw.Connection:
    connection = open_bundle(path)
    register_bm25(connection)
    return connection


def _build_index(
    path: Path, reader: BundleReader, analysis: Analysis, versions: Mapping[int, tuple[str, str]]
) -> None:
    connection = connections.create_file(path, analysis)
    try:
        with connection:
            applier = Applier(connection)
            for row in reader.documents():
                applier.upsert(_document_state(row, versions))
            applier.finish()
            connection.execute(schema.WRITE_META, ("applied_seq", reader.manifest.seq))
        connection.pragma("journal_mode", "delete")
    finally:
        connection.close()


def _document_state(row: DocumentRow, versions: Mapping[int, tuple[str, str]]) -> DocumentState:
    key, tag = versions[row.values["version_number"]]
    return build_document_state(
        row.values,
        doc_id=row.values["doc_id"].hex,
        source_key=key,
        version_tag=tag,
        chunks=row.chunks,
    )
