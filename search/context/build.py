"""The pipeline from an information request to cited segments: `build_context_pack(workspace, request)`."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

from kebab.identity.models import Workspace
from kebab.identity.reader import Reader
from search.access.scope import SearchScope
from search.context.assembly import (
    EXPANDED_HITS,
    EXPANDED_HITS_BY_FILE,
    assemble_pack,
    budget_warnings,
    expand_hits,
)
from search.context.types import Budget, BudgetUnit, ContextPack, ContextRequest, ResponseMode, Surroundings
from search.engine.search import milliseconds_since, resolve_scope_at_seq, search_in_scope
from search.engine.time_limit import limited_search
from search.retrieval.code.paths import path_globs, weight_of_path
from search.retrieval.expansion import ReachedChunk
from search.retrieval.fusion.file_ranking import FoundList, FoundPassage, rank_files, spread
from search.retrieval.fusion.post_fusion import TOP_M
from search.retrieval.query.channels import build_channels, distinct_terms, without_syntax
from search.retrieval.query.filters import SearchFilters
from search.retrieval.types import SearchHit, SearchQuery, SearchResult

#: Candidates of each search of a pack by file.
WINDOW: Final = 200
#: Most passages of a file that are packed.
PER_FILE: Final = 5


def build_context_pack(
    workspace: Workspace, reader: Reader, request: ContextRequest, *, min_seq: int | None = None
) -> ContextPack:
    """Search, expand the hits, pack them within the budget, and cite them.

    Expansion reads under the same workspace, rights and filters as the search. With `min_seq` it waits,
    within a limit, until this node shows that change. Raises InvalidQuery and InvalidFilter,
    NotSearchableYet, Workspace.DoesNotExist.
    """
    started = time.perf_counter()
    scope = resolve_scope_at_seq(workspace, request.query.filters, reader, min_seq)
    result, hits = _hits(workspace, scope, request)
    leading = EXPANDED_HITS_BY_FILE if request.by_file else EXPANDED_HITS
    found = expand_hits(scope, hits, request.surroundings, leading=leading)
    contents = assemble_pack(scope, found, request)
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
        warnings=(*result.warnings, *budget_warnings(found, contents, request.budget)),
        rerank=result.rerank,
        budget=contents.use,
        left_out=len(found.reached) - contents.chunk_count,
        overview=contents.overview,
        files=contents.files,
    )


@limited_search
def _hits(
    workspace: Workspace, scope: SearchScope, request: ContextRequest
) -> tuple[SearchResult, Sequence[ReachedChunk]]:
    if request.by_file:
        return hits_by_file(workspace, scope, request)
    result = search_in_scope(workspace, scope, request.query, with_snippets=False)
    details = [hit.retrieval for hit in result.hits]
    scores = accumulate((each.rerank_score or each.fusion_score for each in details), min)
    ranked = zip(result.hits, scores, strict=True)
    return result, [ReachedChunk(chunk_id=hit.chunk_id, score=score) for hit, score in ranked]


def hits_by_file(
    workspace: Workspace, scope: SearchScope, request: ContextRequest
) -> tuple[SearchResult, Sequence[ReachedChunk]]:
    """Return the search's own result, and the hits of the best `query.k` files, best first.

    The query's cutoff and per-file cap are ignored. Technical terms get a search of their own, because they
    weigh little among the words of a long request.
    """
    result = _search(workspace, scope, request.query)
    lists = [result.hits]
    if request.technical_terms:
        terms = without_syntax(" ".join(request.technical_terms))
        query = replace(request.query, text=terms, channels=None, rerank=False)
        lists.append(_search(workspace, scope, query).hits)
    paths = {hit.doc_id: hit.doc_path for hits in lists for hit in hits}
    request_text = request.query.effective_channels.rerank
    files = rank_files(
        map(_ranked_list, lists), weight_of=lambda doc_id: weight_of_path(paths[doc_id], request_text)
    )
    return result, spread(files[: request.query.k], per_file=PER_FILE)


def _search(workspace: Workspace, scope: SearchScope, query: SearchQuery) -> SearchResult:
    by_passage = replace(query, k=WINDOW, cutoff=False, per_file_cap=0)
    return search_in_scope(workspace, scope, by_passage, with_snippets=False)


def _ranked_list(hits: Sequence[SearchHit]) -> FoundList:
    return FoundList(passages=[FoundPassage(chunk_id=hit.chunk_id, doc_id=hit.doc_id) for hit in hits])


CODE_BUDGET: Final = Budget(unit=BudgetUnit.TOKENS, total=8_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeRequest:
    """An information request about a code base."""

    #: In plain words.
    information_request: str
    #: Names that the answer is likely to contain.
    technical_terms: tuple[str, ...] = ()
    #: Keys or ids of sources; none: all that the reader may read.
    source: tuple[str, ...] = ()
    #: Version tags; none: the default versions.
    version: tuple[str, ...] = ()
    #: Path patterns, as parsed by `path_globs`: a file must match one of `include` and none of `exclude`.
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    #: Programming languages, by any name that `search.retrieval.code.languages` knows.
    languages: tuple[str, ...] = ()
    response_mode: ResponseMode = ResponseMode.TEXT
    #: Budget of the pack's text as written by `search.context.overview.pack_text`.
    budget: Budget = CODE_BUDGET

    @property
    def filters(self) -> SearchFilters:
        """Return the filters of the search. Raises InvalidFilter."""
        return SearchFilters(
            source=self.source,
            version=self.version,
            path_glob=path_globs(self.include),
            path_not_glob=path_globs(self.exclude),
            code_lang=self.languages,
        )


def retrieve_code(
    workspace: Workspace, reader: Reader, request: CodeRequest, *, min_seq: int | None = None
) -> ContextPack:
    """Return the pack for `request`, best file first, from what `reader` may read of `workspace`.

    The text that `search.context.overview.pack_text` writes of it fits the budget to the token. With
    `min_seq` it waits, within a limit, until this node shows that change. Raises InvalidQuery and
    InvalidFilter, NotSearchableYet, Workspace.DoesNotExist.
    """
    channels = build_channels(request.information_request, request.technical_terms)
    plain = replace(channels, lexical=without_syntax(channels.lexical))
    context_request = ContextRequest(
        query=SearchQuery(text=request.information_request, filters=request.filters, k=TOP_M, channels=plain),
        technical_terms=distinct_terms(request.technical_terms),
        budget=request.budget,
        surroundings=Surroundings(imports=True),
        response_mode=request.response_mode,
        by_file=True,
        is_framed=True,
    )
    return build_context_pack(workspace, reader, context_request, min_seq=min_seq)
