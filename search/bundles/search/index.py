"""The index that a bundle is searched by: its own tables, or, of another release, those made of its rows."""

import tempfile
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import NoReturn

import apsw

from search.analysis import Analysis
from search.bundles.errors import BundleDamaged
from search.bundles.format.open_bundle import open_bundle, reads_index
from search.bundles.format.row_reader import BundleReader, DocumentRow
from search.bundles.rows.documents import mirrored
from search.mirror import connections, schema
from search.mirror.connections import ReaderPool
from search.mirror.query.bm25 import register_bm25
from search.mirror.sync.apply import Applier
from search.mirror.sync.snapshot import DocumentState


class SearchedIndex:
    """Stands where searches look for a mirror's files: there is one, and it stays."""

    def __init__(
        self, reader: BundleReader, analysis: Analysis, versions: Mapping[int, tuple[str, str]]
    ) -> None:
        """`versions` are source key and tag by number. An index takes as long as a mirror's rebuild."""
        self._bundle = reader.path
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if reads_index(reader.connection):
            self._path, opened = reader.path, _open_own
        else:
            self._folder = tempfile.TemporaryDirectory(prefix="kebab-bundle-")
            self._path, opened = Path(self._folder.name) / "index.sqlite3", connections.open_reader
            _make(self._path, reader, analysis, versions)
        #: Gives connections to it.
        self.pool = ReaderPool(opened=opened, naming=nullcontext)  # a bundle that can't be read is damaged

    def current(self) -> Path:
        """Return the file."""
        return self._path

    def withdraw(self, generation: Path) -> NoReturn:
        """Raises BundleDamaged: there is no other."""
        raise BundleDamaged(f"The index in {self._bundle} is damaged. Copy the bundle again.")

    def close(self) -> None:
        """Let go of the file."""
        self.pool.close()
        if self._folder is not None:
            self._folder.cleanup()


def _open_own(path: Path) -> apsw.Connection:
    connection = open_bundle(path)
    register_bm25(connection)
    return connection


def _make(
    path: Path, reader: BundleReader, analysis: Analysis, versions: Mapping[int, tuple[str, str]]
) -> None:
    connection = connections.create_file(path, analysis)
    try:
        with connection:
            applier = Applier(connection)
            for row in reader.documents():
                applier.upsert(_state(row, versions))
            applier.finish()
            connection.execute(schema.WRITE_META, ("applied_seq", reader.manifest.seq))
        connection.pragma("journal_mode", "delete")
    finally:
        connection.close()


def _state(row: DocumentRow, versions: Mapping[int, tuple[str, str]]) -> DocumentState:
    key, tag = versions[row.values["version_number"]]
    return mirrored(
        row.values,
        doc_id=row.values["doc_id"].hex,
        source_key=key,
        version_tag=tag,
        indexed_at=row.values["indexed_at"].timestamp(),
        chunks=row.chunks,
    )
