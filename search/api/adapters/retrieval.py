"""The search behind all adapters: passages of one workspace, with text and metadata."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kebab.identity.caller import Caller, caller_access
from kebab.tenancy.current_workspace import acting_in
from search.api.query import run_search
from search.api.search import READ
from search.retrieval.query.metadata_filter import ALL, ANY
from search.retrieval.types import SearchHit

MAX_HITS: Final = 50
# What is shown of a document beside its metadata, and its name in a filter.
_SHOWN: Final = {
    **{name: f"${name}" for name in ("path", "title", "source", "author", "document_id", "date")},
    "document_name": "$title",
    "filename": "$path",
    "citation": "$path",
}


def compare_shown(name: str, wanted: Any, *, is_negative: bool = False) -> dict[str, Any]:
    """Return a filter on a field of the metadata, or on what an answer shows of the document by this name.

    Both must meet a negative condition, one of them any other.
    """
    if name not in _SHOWN:
        return {name: wanted}
    return {ALL if is_negative else ANY: [{name: wanted}, {_SHOWN[name]: wanted}]}


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
