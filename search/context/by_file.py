"""Hits of a request by file: several searches, ranking of whole files, a few passages of many files."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from kebab.people.models import Workspace
from search.access.scope import SearchScope
from search.context.request import ContextRequest
from search.engine.search import search_in_scope
from search.retrieval.code.paths import weight_of_path
from search.retrieval.expansion import ReachedChunk
from search.retrieval.fusion.file_ranking import FoundList, FoundPassage, rank_files, spread
from search.retrieval.query.channels import without_syntax
from search.retrieval.types import SearchHit, SearchQuery, SearchResult

#: Candidates of each search.
WINDOW: Final = 200
#: Most passages of a file that are packed.
PER_FILE: Final = 5


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
    request_text = " ".join((request.query.text, *request.technical_terms))
    files = rank_files(
        map(_ranked_list, lists), weight_of=lambda doc_id: weight_of_path(paths[doc_id], request_text)
    )
    return result, spread(files[: request.query.k], per_file=PER_FILE)


def _search(workspace: Workspace, scope: SearchScope, query: SearchQuery) -> SearchResult:
    by_passage = replace(query, k=WINDOW, cutoff=False, per_file_cap=0)
    return search_in_scope(workspace, scope, by_passage, with_snippets=False)


def _ranked_list(hits: Sequence[SearchHit]) -> FoundList:
    return FoundList(passages=[FoundPassage(chunk_id=hit.chunk_id, doc_id=hit.doc_id) for hit in hits])
