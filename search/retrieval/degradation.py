"""Messages about what a result lacks, and about words that were corrected."""

from collections.abc import Iterator

from search.retrieval.fusion.legs import missing_part_message
from search.retrieval.types import SearchResult


def degradation_messages(result: SearchResult) -> Iterator[str]:
    """Return a sentence for corrected words, and for each part that the result lacks."""
    if result.corrected_query is not None:
        yield f"Showing results for: {result.corrected_query}"
    for leg in result.degraded:
        yield missing_part_message(leg)
    if result.rerank is not None and result.rerank.status == "fallback":
        yield f"The order is the fused one, without a reranker: {result.rerank.reason}"
    yield from result.warnings
    if result.lag:
        changes = "1 change" if result.lag == 1 else f"{result.lag:,} changes"
        yield f"This node's mirror is {changes} behind."
    if result.did_you_mean is not None:
        yield f"Did you mean: {result.did_you_mean}"
