"""Search of a bundle in place, without servers and without writing next to the file.

Legs, fusion and hits are those of `search.engine`; rows are read from the bundle instead of Postgres. There
are no access rights beyond those of the file.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from kebab.people.models import Workspace
from search.access.scope import SearchScope
from search.bundles.errors import BundleRefused
from search.bundles.format.open_bundle import translate_damage
from search.bundles.format.row_reader import BundleReader
from search.bundles.search.chunk_rows import BundleRows
from search.bundles.search.corpus import BundleCorpus
from search.bundles.search.index import BundleIndex
from search.bundles.search.vectors import BundleVectors
from search.engine.readback import VisibleChunk
from search.engine.run import run_search
from search.engine.search import apply_operators, apply_pins, build_result, milliseconds_since
from search.engine.why_not import SearchOutcome
from search.mirror.query.view import MirrorSource, MirrorView
from search.mirror.sync.snapshot import analysis_for
from search.retrieval.fusion.copies import CopyKeys
from search.retrieval.fusion.reorder import PinnedDocument, SortKeys
from search.retrieval.types import SearchQuery, SearchResult
from search.settings.search_settings import SearchSettings
from search.vectors.nearest import Nearest, QueryPoint

# A file that was just copied may have to be read from a slow disk.
_LEG_LIMIT_S = 10.0


class SearchableBundle:
    """An open bundle, to be closed with `close`."""

    def __init__(self, path: Path) -> None:
        """Open the bundle. Raises the errors of `BundleReader`, and BundleRefused for unreadable rows."""
        self._reader = BundleReader(path)
        try:
            self._corpus = BundleCorpus(self._reader)
            self.workspace = self._corpus.workspace
            versions = self._corpus.versions
            self._index = BundleIndex(self._reader, analysis_for(self.workspace), versions)
            self._rows = BundleRows(path, self._reader.connection, versions)
        except BaseException:
            self._reader.__exit__()
            raise

    def close(self) -> None:
        """Close the file."""
        self._index.close()
        self._reader.__exit__()

    def search(self, query: SearchQuery) -> SearchResult:
        """Search for `query`. Raises InvalidQuery, InvalidFilter, and the bundle's errors."""
        started = time.perf_counter()
        path = self._reader.path
        try:
            with translate_damage(path):
                scope = self._corpus.scope(query.filters)
                scope, query = apply_operators(self.workspace, scope, query)
                mirror = MirrorSource(self._index, self._index.pool, scope, limit_s=_LEG_LIMIT_S)
                rows = _FilteredRows(self.workspace, self._reader.connection, mirror, self._rows)
                stages = SearchSettings.of(self.workspace).stages(query, scope.rules.boosts)
                run = run_search(rows, query, apply_pins(rows, query, stages))
        # Code that reads a mirror trusts its content; forged rows may cause arbitrary errors in it.
        except (ValueError, LookupError, TypeError, ArithmeticError, apsw.Error) as error:
            raise BundleRefused(f"{path} is refused: its rows can't be searched ({error}).") from error
        result = build_result(query, run, scope=scope, degraded=run.ranked.degraded)
        return replace(result, took_ms=milliseconds_since(started))


class _FilteredRows:
    """The rows of a bundle under the filters of one query: a `search.engine.corpus.Corpus`."""

    def __init__(
        self, workspace: Workspace, connection: apsw.Connection, mirror: MirrorSource, rows: BundleRows
    ) -> None:
        self.workspace = workspace
        self.scope: SearchScope = mirror.scope
        self._connection = connection
        self._mirror = mirror
        self._rows = rows

    def open_mirror(self, *, may_build: bool = True) -> AbstractContextManager[MirrorView]:
        """Open the index."""
        return self._mirror.open()

    def is_current(self, view: MirrorView) -> bool:
        """Return True: nothing changes in a bundle."""
        return True

    @property
    def checks_all(self) -> bool:
        """Return True: what the index shows is all there is."""
        return True

    def check_visible(self, ids: np.ndarray) -> np.ndarray:
        """Return (m,) bool: which of the chunks pass the filters."""
        with self._mirror.open_for_leg() as view:
            return view.check_visible(ids)

    def copy_keys(self, ids: np.ndarray) -> CopyKeys:
        """Return the keys that tell copies among chunks."""
        with self._mirror.open_for_leg() as view:
            return view.copy_keys(ids)

    def find_nearest(self, point: QueryPoint, limit: int) -> Nearest:
        """Return up to `limit` chunks nearest to `point` that pass the filters."""
        return BundleVectors.compared(self._connection, point).nearest(limit, self.check_visible)

    def read_hits(self, chunk_ids: Sequence[str]) -> Mapping[str, VisibleChunk]:
        """Return the chunks with the fields of hits, by id."""
        with self._mirror.open_for_leg() as view:
            return self._rows.read_hits(view, chunk_ids)

    def read_passages(self, chunk_ids: Sequence[str]) -> Mapping[str, tuple[str, str]]:
        """Return breadcrumb and text of the chunks that pass the filters, by id."""
        with self._mirror.open_for_leg() as view:
            return self._rows.read_passages(view, chunk_ids)

    def read_documents(self, chunk_ids: Sequence[str]) -> Mapping[str, int]:
        """Return the rows of the documents of the chunks that pass the filters, by chunk id."""
        with self._mirror.open_for_leg() as view:
            return self._rows.read_documents(view, chunk_ids)

    def read_sort_keys(self, chunk_ids: Sequence[str]) -> Mapping[str, SortKeys]:
        """Return title and date of the documents of the chunks that pass the filters, by chunk id."""
        with self._mirror.open_for_leg() as view:
            return self._rows.read_sort_keys(view, chunk_ids)

    def read_first_chunks(self, doc_ids: Sequence[str]) -> Mapping[str, PinnedDocument]:
        """Return those of the documents that pass the filters, with their first chunks, by id."""
        with self._mirror.open_for_leg() as view:
            return self._rows.read_first_chunks(view, doc_ids)

    def read_metadata(self, doc_ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        """Return the metadata of documents, by id."""
        return {doc_id: self._rows.read_metadata(doc_id) for doc_id in doc_ids}

    def explain_absence(self, target: str, outcome: SearchOutcome) -> None:
        """Return None: the reasons are read from Postgres."""
        return
