"""Later pages of a result: ranked as before, read from the current documents under the current rights."""

import time
from dataclasses import replace
from itertools import islice

from kebab.people.models import Workspace
from kebab.people.reader import Reader
from search.access.scope import SearchScope, resolve_scope
from search.engine.corpus import PostgresCorpus
from search.engine.cursors import cursor_at, load_list
from search.engine.hits import HitBuilder
from search.engine.ranking_snapshot import ResultSnapshot
from search.engine.readback import read_documents
from search.engine.search import apply_operators, milliseconds_since
from search.metrics import PAGES
from search.retrieval.fusion.ranking import RankedEntry
from search.retrieval.types import SearchResult


def fetch_next_page(
    workspace: Workspace, cursor: str, caller: str, *, reader: Reader, k: int = 0
) -> SearchResult:
    """Return the next `k` visible hits of the cursor's list; 0 means the k of its query.

    A chunk is left out if it was deleted, `reader` may no longer read it or the filters no longer match it;
    the others keep their ranks. All else is that of the first page: index version, change of the index,
    totals, warnings; `lag` is counted from that change.
    Raises StaleCursor, InvalidQuery for a k below 0, Workspace.DoesNotExist, RedisError.
    """
    started = time.perf_counter()
    snapshot, position = load_list(cursor, workspace.pk, caller)
    query = replace(snapshot.query, k=k or snapshot.query.k)
    scope, query = apply_operators(workspace, resolve_scope(workspace, query.filters, reader), query)
    visible = _visible_entries(scope, snapshot, position, query.k + 1)
    page, rest = visible[: query.k], visible[query.k :]
    corpus = PostgresCorpus(workspace, scope)
    builder = HitBuilder(
        corpus, query, None, space=snapshot.space, index_version=snapshot.result.index_version
    )
    hits = builder.build_as_ranked(page)
    PAGES.add()
    return replace(
        snapshot.result,
        hits=hits,
        lag=max(0, scope.head_seq - snapshot.result.seq),
        next_cursor=cursor_at(cursor, rest[0].rank - 1) if rest else None,
        took_ms=milliseconds_since(started),
    )


def _visible_entries(
    scope: SearchScope, snapshot: ResultSnapshot, position: int, limit: int
) -> list[RankedEntry]:
    """Return the first `limit` visible entries from `position` on, read back in one query."""
    chunk_ids = snapshot.ranking.ids(position)
    visible = read_documents(scope, chunk_ids) if chunk_ids else {}
    return list(islice((e for e in snapshot.ranking.entries(position) if e.chunk_id in visible), limit))
