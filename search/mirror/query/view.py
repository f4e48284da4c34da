"""A mirror as one query sees it: one read transaction, with time limits, and without trusting the file."""

import json
import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from search.access.scope import SearchScope
from search.analysis import Analysis
from search.mirror.connections import DAMAGE, ReaderPool, empty_mirror
from search.mirror.files import MirrorAbsent, MirrorDamaged, MirrorFiles
from search.mirror.postings import Collection
from search.mirror.schema import analysis_of
from search.mirror.sync.sync import applied_position
from search.retrieval.deadline import deadline
from search.retrieval.fusion.copies import NO_KEY, CopyKeys
from search.retrieval.fusion.legs import unpack_ids
from search.retrieval.query.conditions import NamedCondition

logger = logging.getLogger(__name__)

# Steps of SQLite's virtual machine between checks of the clock: a limit is overrun by some 15 ms.
_STEPS = 5_000


_ROWS = """
SELECT coalesce((SELECT c.chunk FROM chunks c WHERE c.chunk_id = v.value), -1) FROM json_each(?) v
ORDER BY v.key
"""


class MirrorView:
    """One workspace's mirror in a read transaction. Threads may use it one after the other."""

    def __init__(
        self, connection: apsw.Connection, scope: SearchScope, pool: ReaderPool, *, limit_s: float
    ) -> None:
        """Take a connection in a transaction; `limit_s` is that of each block of `limited_time`."""
        self.connection = connection
        self.scope = scope
        #: Number and token of the last change that it shows.
        self.position = applied_position(connection)
        self.seq = self.position[0]
        self._pool = pool
        self._limit_s = limit_s
        self._deadline = float("inf")
        self._known_rows: dict[str, int] = {}

    @cached_property
    def analysis(self) -> Analysis:
        """The analysis that indexed the text, with the languages of the readable documents."""
        analysis, languages = analysis_of(self.connection), self.collection.languages(self.connection)
        return analysis if languages is None else replace(analysis, languages=languages)

    @cached_property
    def collection(self) -> Collection:
        """The chunks that a query is ranked among: all that its reader may read, before filters.

        Raises MirrorDamaged.
        """
        readable = self.scope.readable
        keys = None if readable is None else readable.keys
        return self._pool.collections.get(self.connection, self.seq, keys)

    @property
    def narrowed_collection(self) -> Collection | None:
        """Return the collection if it is a part of the mirror, None for all: SQLite counts that itself."""
        return None if self.scope.readable is None else self.collection

    @cached_property
    def passes(self) -> np.ndarray:
        """(n,) bool, read-only: whether the reader may see each row's chunk under filters and operators."""
        passes = self.meeting(self.scope.conditions)
        passes.flags.writeable = False
        return passes

    def meeting(self, conditions: Iterable[NamedCondition]) -> np.ndarray:
        """Return (n,) bool, whether the reader may see each row's chunk and it meets all conditions."""
        passes: np.ndarray = self.collection.chunks.docs != 0
        for each in conditions:
            passes &= self.collection.mask(self.connection, each.condition)
        return passes

    @cached_property
    def clause(self) -> str:
        """The SQL to append to a MATCH on chunks_fts, for those that `passes` shows; empty for all chunks."""
        return self._build_clause("row_passes", self.scope.conditions)

    @cached_property
    def filter_clause(self) -> str:
        """The same clause without the conditions of operators."""
        if self.scope.operators is None:
            return self.clause
        return self._build_clause("row_is_filtered", self.scope.filter_conditions)

    def _build_clause(self, function: str, conditions: tuple[NamedCondition, ...]) -> str:
        if self.scope.readable is None and not conditions:
            return ""
        # A list of rows would make SQLite run the MATCH once for each of them.
        meets: Any = self.meeting(conditions).item
        self.connection.create_scalar_function(function, meets, 1)
        return f"AND {function}(chunks_fts.rowid)"

    def rows_of(self, ids: np.ndarray) -> np.ndarray:
        """Return the rows of chunks, (m,) ID; (m,) int64, -1 for chunks that the mirror lacks."""
        chunk_ids = unpack_ids(ids)
        unknown = [chunk_id for chunk_id in chunk_ids if chunk_id not in self._known_rows]
        if unknown:
            rows = self.connection.execute(_ROWS, (json.dumps(unknown),))
            self._known_rows.update(zip(unknown, [row for (row,) in rows], strict=True))
        return np.array([self._known_rows[chunk_id] for chunk_id in chunk_ids], np.int64)

    def note_rows(self, ids: np.ndarray, rows: np.ndarray) -> None:
        """Note the rows of chunks, so that `rows_of` need not look them up."""
        self._known_rows.update(zip(unpack_ids(ids), rows.tolist(), strict=True))

    def documents(self, rows: np.ndarray) -> np.ndarray:
        """Return the document rows of the chunks at `rows`; 0 for -1, and outside the reader's collection."""
        docs = self.collection.chunks.docs
        found: np.ndarray = np.where(rows >= 0, docs[rows], 0) if len(docs) else np.zeros(len(rows), np.int64)
        return found

    def copy_keys(self, ids: np.ndarray) -> CopyKeys:
        """Return the keys that tell copies of a text among chunks, (m,) ID."""
        rows = self.rows_of(ids)
        keys = self.collection.chunks.text_keys
        texts = np.where(rows >= 0, keys[rows], NO_KEY) if len(keys) else np.zeros(len(rows), np.uint64)
        outdated = self.collection.outdated(self.connection)
        return CopyKeys(
            texts=texts,
            documents=self.documents(rows),
            outdated=outdated if len(outdated.docs) else None,
        )

    def check_visible(self, ids: np.ndarray) -> np.ndarray:
        """Return (m,) bool: which of the chunks the reader may see under the query's filters."""
        rows = self.rows_of(ids)
        is_visible: np.ndarray = self.documents(rows) != 0
        if self.scope.conditions:
            is_visible[is_visible] = self.passes[rows[is_visible]]
        return is_visible

    @contextmanager
    def limited_time(self, limit_s: float | None = None) -> Iterator[None]:
        """Limit the time of a block, to that of a leg for None: past it SQLite raises InterruptError.

        The deadline of the search ends it, too. Raises MirrorDamaged.
        """
        limit_s = self._limit_s if limit_s is None else limit_s
        end, last = time.monotonic() + limit_s, deadline()
        self._deadline = end if end < last else last
        self.connection.set_progress_handler(self.is_late, _STEPS)
        try:
            yield
        except DAMAGE as error:
            raise MirrorDamaged(f"{Path(self.connection.filename).name}: {error}") from error
        finally:
            self.connection.set_progress_handler(None)

    def is_late(self) -> bool:
        """Return whether the time is up."""
        return time.monotonic() > self._deadline

    def raise_if_late(self) -> None:
        """Raise apsw.InterruptError if the time is up."""
        if self.is_late():
            raise apsw.InterruptError("The time is up.")


class MirrorSource:
    """A workspace's mirror, to be opened under a scope."""

    def __init__(self, files: MirrorFiles, pool: ReaderPool, scope: SearchScope, *, limit_s: float) -> None:
        """`limit_s` is the time limit of each leg."""
        self.scope = scope
        self._files = files
        self._pool = pool
        self._limit_s = limit_s

    @contextmanager
    def open(self) -> Iterator[MirrorView]:
        """Provide a view. A workspace without any change has no mirror and gets an empty one.

        A file that turns out to be damaged is withdrawn. Raises MirrorError.
        """
        path = self._current()
        try:
            with empty_mirror() if path is None else self._pool.reader(path) as connection:
                connection.execute("BEGIN")
                try:
                    yield MirrorView(connection, self.scope, self._pool, limit_s=self._limit_s)
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
        except MirrorDamaged as damage:
            logger.error("mirror of %s is withdrawn: %s", self.scope.workspace_id, damage)
            if path is not None:
                self._files.withdraw(path)
            raise

    @contextmanager
    def open_for_leg(self) -> Iterator[MirrorView]:
        """Provide a view for one leg's time. Raises MirrorError, and apsw.InterruptError when it is up."""
        with self.open() as view, view.limited_time():
            yield view

    def _current(self) -> Path | None:
        try:
            return self._files.current()
        except MirrorAbsent:
            if self.scope.head_seq:
                raise
            return None
