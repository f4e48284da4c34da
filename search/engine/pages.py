"""The pages behind the first: ranked as they were, read as they stand now, under the rights of now."""

import time
from dataclasses import replace
from itertools import islice

from kebab.people.models import Workspace
from kebab.people.reader import Reader
from search.access.scope import Scope, resolve_scope
from search.engine.cursors import cursor_at, thaw
from search.engine.hits import HitBuilder
from search.engine.ranking_snapshot import FrozenList
from search.engine.readback import read_back
from search.engine.search import lexical_leg, milliseconds_since
from search.metrics import PAGES
from search.retrieval.fusion.pipeline import RankedEntry
from search.retrieval.types import SearchResult


def next_page(workspace: Workspace, cursor: str, caller: str, *, reader: Reader, k: int = 0) -> SearchResult:
    """Return the next `k` places of the cursor's list that still stand, 0: as many as its query asked for.

    A chunk that was deleted, or that `reader` may not read any more or the filters would not let through,
    is left out, and the others keep their ranks. What the page says besides, the first one said: the index
    version, the change that the index had come to, totals, warnings; `lag` is counted from that change.
    Raises StaleCursor, InvalidQuery for a k below 0, Workspace.DoesNotExist, RedisError.
    """
    started = time.perf_counter()
    frozen, place = thaw(cursor, workspace.pk, caller)
    query = replace(frozen.query, k=k or frozen.query.k)
    scope = resolve_scope(workspace, query.filters, reader)
    standing = _standing(scope, frozen, place, query.k + 1)
    page, behind = standing[: query.k], standing[query.k :]
    leg = lexical_leg(workspace, scope, query.asked.lexical)
    builder = HitBuilder(workspace, scope, query, leg, frozen.space, frozen.result.index_version)
    PAGES.add()
    return replace(
        frozen.result,
        hits=builder.build_as_ranked(page),
        lag=max(0, scope.head_seq - frozen.result.seq),
        next_cursor=cursor_at(cursor, behind[0].rank - 1) if behind else None,
        took_ms=milliseconds_since(started),
    )


def _standing(scope: Scope, frozen: FrozenList, place: int, limit: int) -> list[RankedEntry]:
    """Return the first `limit` places from `place` on that still stand, all of them looked up in
    one query.
    """
    chunk_ids = frozen.ranking.ids(place)
    standing = read_back(scope, chunk_ids).documents if chunk_ids else {}
    return list(islice((e for e in frozen.ranking.entries(place) if e.chunk_id in standing), limit))
