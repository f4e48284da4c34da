"""The hits of a request by file: several searches, their files ranked whole, something of many of them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from kebab.people.models import Workspace
from search.access.scope import Scope
from search.context.request import ContextRequest
from search.engine.search import search_in
from search.retrieval.code.paths import weight_of_path
from search.retrieval.expansion import Reached
from search.retrieval.fusion.file_ranking import FoundList, FoundPassage, rank_files, spread
from search.retrieval.query.channels import without_syntax
from search.retrieval.types import SearchHit, SearchQuery, SearchResult

#: Candidates of each search.
WINDOW: Final = 200
#: Passages of a file that are packed, at most.
PER_FILE: Final = 5


def hits_by_file(
    workspace: Workspace, scope: Scope, request: ContextRequest
) -> tuple[SearchResult, Sequence[Reached]]:
    """Return the search's own result, and the hits of the best `query.k` files, best first.

    A cutoff and a cap have no say here. Terms are searched for by themselves once more: beside the words of a
    long request they count for little.
    """
    result = _searched(workspace, scope, request.query)
    lists = [result.hits]
    if request.technical_terms:
        named = without_syntax(" ".join(request.technical_terms))
        query = replace(request.query, text=named, channels=None, rerank=False)
        lists.append(_searched(workspace, scope, query).hits)
    paths = {hit.doc_id: hit.doc_path for hits in lists for hit in hits}
    asked = " ".join((request.query.text, *request.technical_terms))
    files = rank_files(map(_list_of, lists), weight_of=lambda doc_id: weight_of_path(paths[doc_id], asked))
    return result, spread(files[: request.query.k], per_file=PER_FILE)


def _searched(workspace: Workspace, scope: Scope, query: SearchQuery) -> SearchResult:
    by_passage = replace(query, k=WINDOW, cutoff=False, per_file_cap=0)
    return search_in(workspace, scope, by_passage, with_snippets=False)


def _list_of(hits: Sequence[SearchHit]) -> FoundList:
    return FoundList(passages=[FoundPassage(chunk_id=hit.chunk_id, doc_id=hit.doc_id) for hit in hits])
