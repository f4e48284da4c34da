"""The settings of searching that a workspace may have."""

from collections.abc import Iterator

from kebab.people.workspace_settings.registry import Preference
from kebab.people.workspace_settings.validators import boolean, integer_between, number_between, one_of
from search.embedders.configured import allowed_embedders
from search.mirror.query.lexical import BREADCRUMB_WEIGHT
from search.mirror.sync.snapshot import STEMMING
from search.query_log.storage import KEPT_DAYS as QUERY_DAYS
from search.retrieval.fusion.post_fusion import PRE_RERANK_MAX_PER_FILE
from search.retrieval.fusion.scores import RRF_K, VECTOR_SHARE
from search.retrieval.staleness import STALE_AFTER_DAYS
from search.retrieval.types import DEFAULT_K, DEFAULT_SNIPPET_CHARS, MAX_K, Fusion

SCORE_GATE = 0.05
_MAX_DAYS = 36_500
_FUSIONS = {Fusion.CONVEX: "by scores (convex)", Fusion.RRF: "by ranks (rrf)"}


def _embedder_choices() -> Iterator[tuple[str, str]]:
    return ((name, name) for name in allowed_embedders())


def _fusion_choices() -> Iterator[tuple[str, str]]:
    return ((fusion.value, label) for fusion, label in _FUSIONS.items())


#: The most frequently changed first.
PREFERENCES = (
    Preference(
        name="default_k",
        default=DEFAULT_K,
        validate=integer_between(1, MAX_K),
        label="Hits a search gives",
        about=f"Where it doesn’t say how many: 1 to {MAX_K}.",
    ),
    Preference(
        name="snippet_chars",
        default=DEFAULT_SNIPPET_CHARS,
        validate=integer_between(1, 10_000),
        label="Length of a snippet",
        about="In characters: 1 to 10000.",
    ),
    Preference(
        name="stale_after_days",
        default=STALE_AFTER_DAYS,
        validate=integer_between(0, _MAX_DAYS),
        label="Days until a hit counts as old",
        about="0 to 36500, since it was indexed last; 0 never says so.",
    ),
    Preference(
        name="answers_kept_days",
        default=0,
        validate=integer_between(0, _MAX_DAYS),
        label="Days that answers are kept",
        about="With what they quote, for review: 0 to 36500; 0 keeps them until somebody deletes them.",
    ),
    Preference(
        name="embedder",
        default=None,
        validate=one_of(lambda: tuple(allowed_embedders())),
        label="Embedding model",
        about="Makes the first vectors; those that are there change by kebab reembed."
        " With none, words alone are searched.",
        choices=_embedder_choices,
    ),
    Preference(
        name="fusion",
        default=Fusion.CONVEX.value,
        validate=one_of(lambda: tuple(Fusion)),
        label="How words and meaning are joined",
        about="Decides the order of hits.",
        choices=_fusion_choices,
        ranks=True,
    ),
    Preference(
        name="vector_share",
        default=VECTOR_SHARE,
        validate=number_between(0, 1),
        label="Weight of meaning",
        about="0 to 1 of the score, when joined by scores; words have the rest.",
        ranks=True,
    ),
    Preference(
        name="rrf_k",
        default=RRF_K,
        validate=integer_between(1, 10_000),
        label="Constant of joining by ranks",
        about="1 to 10000; higher levels the ranks.",
        ranks=True,
    ),
    Preference(
        name="breadcrumb_weight",
        default=BREADCRUMB_WEIGHT,
        validate=number_between(0, 100),
        label="Weight of title and headings",
        about="0 to 100, beside 1 for a word of the text.",
        ranks=True,
    ),
    Preference(
        name="pre_rerank_max_per_file",
        default=PRE_RERANK_MAX_PER_FILE,
        validate=integer_between(0, MAX_K),
        label="Most hits of one document",
        about=f"Before they are read again by the reranker: 0 to {MAX_K}; 0 sets no limit.",
        ranks=True,
    ),
    Preference(
        name="score_gate",
        default=SCORE_GATE,
        validate=number_between(0, 1),
        label="Least score for an answer",
        about="0 to 1; below it a question is refused instead of answered.",
        ranks=True,
    ),
    Preference(
        name=STEMMING,
        default=True,
        validate=boolean,
        label="Find words by their stems",
        about="No finds words only as they are written. The index is built anew.",
    ),
    Preference(
        name=QUERY_DAYS,
        default=90,
        validate=integer_between(0, _MAX_DAYS),
        label="Keep what is asked, in days",
        about="Which queries the workspace is asked, for its insight. 0 keeps none.",
    ),
)
