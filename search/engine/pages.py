"""Later pages of a result: ranked as before, read from the current documents under the current rights."""

import time
from dataclasses import replace
from itertools import islice

from kebab.identity.models import Workspace
from kebab.identity.reader import Reader
from search.access.scope import resolve_scope
from search.engine.cursors import cursor_at, load_list
from search.engine.hits import HitBuilder
from search.engine.readback import read_documents
from search.engine.search import apply_operators, milliseconds_since
from search.engine.time_limit import limited_search
from search.metrics import PAGES
from search.retrieval.fusion.ranking import RankedEntry
from search.retrieval.types import SearchResult


@limited_search
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
    chunk_ids = snapshot.ranking.ids(position)
    visible = read_documents(scope, chunk_ids) if chunk_ids else {}
    following = snapshot.ranking.entries(position, visible)
    entries: list[RankedEntry] = []

    def read_entries(start: int, stop: int) -> list[RankedEntry]:
        entries.extend(islice(following, stop - len(entries)))
        return entries[start:stop]

    builder = HitBuilder(
        workspace,
        scope,
        query,
        None,
        space=snapshot.space,
        index_version=snapshot.result.index_version,
        copies=snapshot.copies,
    )
    page = builder.build(read_entries, query.k, is_first=False)
    rest = read_entries(page.stop, page.stop + 1)
    PAGES.add()
    return replace(
        snapshot.result,
        hits=page.hits,
        lag=max(0, scope.head_seq - snapshot.result.seq),
        next_cursor=cursor_at(cursor, rest[0].rank - 1) if rest else None,
        took_ms=milliseconds_since(started),
    )
