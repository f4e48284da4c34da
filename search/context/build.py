"""`build_context_pack(workspace, request)`: from an information request to packed, cited segments."""

import time
from collections.abc import Sequence

from kebab.people.models import Workspace
from kebab.people.reader import Reader
from search.access.scope import Scope
from search.context.assembly import too_small, write_found
from search.context.by_file import hits_by_file
from search.context.candidates import LEADING, LEADING_BY_FILE, found_around
from search.context.request import ContextRequest
from search.context.types import ContextPack
from search.engine.search import milliseconds_since, scope_from, search_in
from search.retrieval.expansion import Reached
from search.retrieval.types import SearchResult


def build_context_pack(
    workspace: Workspace, reader: Reader, request: ContextRequest, *, min_seq: int | None = None
) -> ContextPack:
    """Search, expand the hits, pack what was found within the budget, and cite it.

    What surrounds the hits is read under the same workspace, rights and filters as they are. With `min_seq`
    it waits, within a limit, until this node shows that change. Raises InvalidQuery and InvalidFilter,
    NotSearchableYet, Workspace.DoesNotExist.
    """
    started = time.perf_counter()
    scope = scope_from(workspace, request.query.filters, reader, min_seq)
    result, hits = _hits(workspace, scope, request)
    leading = LEADING_BY_FILE if request.by_file else LEADING
    found = found_around(scope, hits, request.surroundings, leading=leading)
    written = write_found(scope, found, request)
    return ContextPack(
        information_request=request.query.text,
        technical_terms=request.technical_terms,
        response_mode=request.response_mode,
        mode=result.mode,
        index_version=result.index_version,
        seq=result.seq,
        lag=result.lag,
        took_ms=milliseconds_since(started),
        degraded=result.degraded,
        warnings=(*result.warnings, *too_small(found, written, request.budget)),
        rerank=result.rerank,
        budget=written.use,
        left_out=len(found.reached) - written.chunk_count,
        overview=written.overview,
        files=written.files,
    )


def _hits(
    workspace: Workspace, scope: Scope, request: ContextRequest
) -> tuple[SearchResult, Sequence[Reached]]:
    if request.by_file:
        return hits_by_file(workspace, scope, request)
    result = search_in(workspace, scope, request.query, with_snippets=False)
    return result, [Reached(chunk_id=hit.chunk_id, score=hit.score) for hit in result.hits]
