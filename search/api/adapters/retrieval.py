"""The search behind all adapters: passages of one workspace, with text and metadata."""

from collections.abc import Mapping, Sequence
from typing import Any

from kebab.identity.caller import Caller, caller_access
from kebab.tenancy.current_workspace import acting_in
from search.api.query import run_search
from search.api.search import READ
from search.retrieval.types import SearchHit

MAX_HITS = 50


def find_passages(
    caller: Caller,
    workspace: str,
    query: str,
    *,
    k: int,
    metadata: Mapping[str, Any],
    least_score: float = 0.0,
) -> Sequence[SearchHit]:
    """Return the passages of a workspace, named by slug or id, that answer a query.

    Raises NotFound, Forbidden, InvalidFilter.
    """
    access = caller_access(caller, workspace)
    READ.check(access)
    given: dict[str, Any] = {"q": query, "k": min(k, MAX_HITS), "operators": False, "floor": True}
    given["include"] = ["text", "metadata"]
    with acting_in(access.workspace.pk):
        result = run_search(access, given, {"metadata": dict(metadata)} if metadata else {})
    return [hit for hit in result.hits if hit.score >= least_score]
