"""The listing of documents for a query without words: the newest first, or by title."""

from typing import ClassVar

import apsw
import numpy as np

from search.mirror.query.view import MirrorView
from search.retrieval.fusion.legs import LegName, LegResult
from search.retrieval.types import MAX_K, Sort


class ListingLeg:
    """A leg with the first visible chunk of each document, in the order of the list, in place of words."""

    name: ClassVar[LegName] = "lexical"
    weight: ClassVar[float] = 1.0
    runs_in_calling_thread: ClassVar[bool] = True
    is_skipped_when_empty: ClassVar[bool] = False

    def __init__(self, view: MirrorView, sort: Sort, *, is_checked: bool) -> None:
        """Create the leg; `is_checked` says that what the mirror shows is visible."""
        self.is_checked = is_checked
        self._view = view
        self._sort = sort

    def search(self, limit: int) -> LegResult:
        """Return up to `limit` chunks, and not more than a list may have; none if the time is up."""
        view = self._view
        try:
            with view.limited_time():
                chunks = view.collection.chunks
                rows = np.flatnonzero(view.passes)
                first = np.full(int(chunks.docs.max(initial=0)) + 1, -1)
                first[chunks.docs[rows][::-1]] = rows[::-1]  # of several the last one written stays
                order = view.collection.document_order(view.connection, self._sort)
                listed = first[order[order < len(first)]]
        except apsw.InterruptError:
            return LegResult(is_complete=False, is_available=False)
        kept = listed[listed >= 0][: min(limit, MAX_K)]
        view.note_rows(chunks.ids[kept], kept)
        return LegResult(ids=chunks.ids[kept], scores=np.full(len(kept), 0.5))
