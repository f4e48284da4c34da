"""Labels and help texts of the search settings on the settings page."""

from collections.abc import Iterator

from kebab.people.workspace_settings.registry import describe_preference
from search.embedders.configured import allowed_embedders
from search.mirror.sync.snapshot import STEMMING
from search.retrieval.types import MAX_K, Fusion

_FUSIONS = {Fusion.CONVEX: "by scores (convex)", Fusion.RRF: "by ranks (rrf)"}


def describe_settings() -> None:
    """Register labels and help texts of all search settings, the most frequently changed first."""
    describe_preference("default_k", "Hits a search gives", f"Where it doesn’t say how many: 1 to {MAX_K}.")
    describe_preference("snippet_chars", "Length of a snippet", "In characters: 1 to 10000.")
    describe_preference(
        "stale_after_days",
        "Days until a hit counts as old",
        "0 to 36500, since it was indexed last; 0 never says so.",
    )
    describe_preference(
        "answers_kept_days",
        "Days that answers are kept",
        "With what they quote, for review: 0 to 36500; 0 keeps them until somebody deletes them.",
    )
    describe_preference(
        "embedder",
        "Embedding model",
        "Makes the first vectors; those that are there change by kebab reembed."
        " With none, words alone are searched.",
        choices=_embedder_choices,
    )
    _describe_ranking()


def _describe_ranking() -> None:
    describe_preference(
        "fusion", "How words and meaning are joined", "Decides the order of hits.", choices=_fusion_choices
    )
    describe_preference(
        "vector_share",
        "Weight of meaning",
        "0 to 1 of the score, when joined by scores; words have the rest.",
    )
    describe_preference("rrf_k", "Constant of joining by ranks", "1 to 10000; higher levels the ranks.")
    describe_preference(
        "breadcrumb_weight", "Weight of title and headings", "0 to 100, beside 1 for a word of the text."
    )
    describe_preference(
        "pre_rerank_max_per_file",
        "Most hits of one document",
        f"Before they are read again by the reranker: 0 to {MAX_K}; 0 sets no limit.",
    )
    describe_preference(
        "score_gate",
        "Least score for an answer",
        "0 to 1; below it a question is refused instead of answered.",
    )
    describe_preference(
        STEMMING,
        "Find words by their stems",
        "No finds words only as they are written. The index is built anew.",
    )
    describe_preference(
        "queries_kept_days",
        "Keep what is asked, in days",
        "Which queries the workspace is asked, for its insight. 0 keeps none.",
    )


def _embedder_choices() -> Iterator[tuple[str, str]]:
    return ((name, name) for name in allowed_embedders())


def _fusion_choices() -> Iterator[tuple[str, str]]:
    return ((fusion.value, words) for fusion, words in _FUSIONS.items())
