"""Later pages of a result: ranked as before, read from the current documents under the current rights."""

import time
from dataclasses import replace
from itertools import chain, islice

from kebab.identity.models import Workspace
from kebab.identity.reader import Reader
from search.access.scope import SearchScope, resolve_scope
from search.engine.cursors import STALE, add_cursor, cursor_at, load_list
from search.engine.hits import HitBuilder
from search.engine.ranking_snapshot import MAX_PLACES, RankingSnapshot, ResultSnapshot
from search.engine.readback import find_written, read_documents
from search.engine.run import list_end
from search.engine.search import apply_operators, is_in_log, milliseconds_since, run_visible
from search.engine.time_limit import limited_search
from search.metrics import PAGES
from search.retrieval.deadline import is_over
from search.retrieval.errors import StaleCursor
from search.retrieval.fusion.post_fusion import cap_per_file
from search.retrieval.fusion.ranking import RankedEntry
from search.retrieval.types import MAX_K, SearchQuery, SearchResult, Sort
from search.settings.search_settings import SearchSettings


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
    query = replace(snapshot.query, k=k or snapshot.query.k, sort=Sort.RELEVANCE)
    scope, query = apply_operators(workspace, resolve_scope(workspace, query.filters, reader), query)
    if not is_in_log(scope, snapshot.position):
        raise StaleCursor(STALE)
    entries = _read_entries(scope, snapshot, position, query.k + 1)
    is_longer = len(entries) <= query.k and snapshot.is_cut and snapshot.window < MAX_K and not is_over()
    if is_longer:
        snapshot = _lengthen(workspace, scope, query, snapshot)
        entries = _read_entries(scope, snapshot, position, query.k + 1)
    builder = HitBuilder(
        workspace,
        scope,
        replace(query, sort=snapshot.query.sort),
        None,
        space=snapshot.space,
        index_version=snapshot.result.index_version,
        copies=snapshot.copies,
        older=snapshot.older,
    )
    page = builder.build(lambda start, stop: entries[start:stop], query.k, is_first=False)
    rest = entries[page.stop :]
    result = replace(snapshot.result, hits=page.hits, lag=max(0, scope.head_seq - snapshot.result.seq))
    if rest and is_longer:
        result = add_cursor(result, snapshot, workspace.pk, caller, position=rest[0].rank - 1)
    elif rest:
        result = replace(result, next_cursor=cursor_at(cursor, rest[0].rank - 1))
    elif snapshot.is_cut or len(snapshot.ranking) >= MAX_PLACES:
        result = replace(result, warnings=(*result.warnings, list_end(snapshot.window)))
    PAGES.add()
    return replace(result, took_ms=milliseconds_since(started))


def _read_entries(
    scope: SearchScope, snapshot: ResultSnapshot, position: int, count: int
) -> list[RankedEntry]:
    """Return up to `count` visible entries of a list from a position on."""
    chunk_ids = snapshot.ranking.ids(position)
    visible = read_documents(scope, chunk_ids) if chunk_ids else {}
    limits_scores = snapshot.query.sort is Sort.RELEVANCE
    return list(islice(snapshot.ranking.entries(position, visible, limits_scores=limits_scores), count))


def _lengthen(
    workspace: Workspace, scope: SearchScope, query: SearchQuery, snapshot: ResultSnapshot
) -> ResultSnapshot:
    """Return the list with what the same search finds in the widest window behind it.

    Texts that are in the list, and documents written since, are left out, and so is what exceeds the limit
    of entries per document.
    """
    stages = replace(SearchSettings.of(workspace).stages(query, scope.rules.boosts), are_widest=True)
    run = run_visible(workspace, query, stages, False, scope)
    listed = list(snapshot.ranking.entries(0))
    folded = chain(*snapshot.copies.values(), *snapshot.older.values())
    known = {*folded, *(entry.chunk_id for entry in listed)}
    further = [
        entry
        for entry in (run.after.entries if stages.are_any else run.ranked.entries(MAX_K))
        if known.isdisjoint((entry.chunk_id, *run.copies.get(entry.chunk_id, ())))
    ]
    documents = read_documents(scope, [entry.chunk_id for entry in (*listed, *further)])
    written = find_written(scope, documents.values(), snapshot.result.seq)
    entries = cap_per_file(
        (*listed, *(entry for entry in further if documents.get(entry.chunk_id) not in written)),
        file_of=lambda entry: documents.get(entry.chunk_id, entry.chunk_id),
        cap=stages.most_per_document,
    )
    return replace(
        snapshot,
        ranking=RankingSnapshot.from_entries(query.mode, entries),
        window=run.window,
        is_cut=run.is_cut or run.ranked.degraded != snapshot.result.degraded,
        copies={**run.copies, **snapshot.copies},
        older={**run.older, **snapshot.older},
    )
