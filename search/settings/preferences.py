"""The settings of searching that a workspace may have."""

from collections.abc import Iterator

from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from kebab.contributions import lazy
from kebab.people.workspace_settings.registry import (
    Preference,
    boolean,
    integer_between,
    number_between,
    one_of,
)
from search.embedders.configured import allowed_embedders
from search.mirror.query.lexical import BREADCRUMB_WEIGHT
from search.mirror.sync.snapshot import STEMMING
from search.query_log.storage import KEPT_DAYS as QUERY_DAYS
from search.retrieval.fusion.post_fusion import DEFAULT_HALF_LIFE_DAYS, PRE_RERANK_MAX_PER_FILE
from search.retrieval.fusion.scores import RRF_K, VECTOR_SHARE
from search.retrieval.staleness import STALE_AFTER_DAYS
from search.retrieval.types import DEFAULT_K, DEFAULT_SNIPPET_CHARS, MAX_K, Fusion
from search.settings.search_settings import MANAGE_RULES, RULES

SCORE_GATE = 0.05
_MAX_DAYS = 36_500
_FUSIONS = {Fusion.CONVEX: _("By scores (convex)"), Fusion.RRF: _("By ranks (RRF)")}


def _embedder_choices() -> Iterator[tuple[str, str]]:
    return ((name, name) for name in allowed_embedders())


def _fusion_choices() -> Iterator[tuple[str, Promise]]:
    return ((fusion.value, label) for fusion, label in _FUSIONS.items())


#: The most frequently changed first.
PREFERENCES = (
    Preference(
        name="default_k",
        default=DEFAULT_K,
        validate=integer_between(1, MAX_K),
        label=_("Results per page"),
        about=format_lazy(_("1 to {most}."), most=MAX_K),
        section="general",
    ),
    Preference(
        name="snippet_chars",
        default=DEFAULT_SNIPPET_CHARS,
        validate=integer_between(1, 10_000),
        label=_("Length of excerpts"),
        about=_("Characters of text shown with a result: 1 to 10000."),
        section="general",
    ),
    Preference(
        name="stale_after_days",
        default=STALE_AFTER_DAYS,
        validate=integer_between(0, _MAX_DAYS),
        label=_("Mark as outdated after (days)"),
        about=_("Days since a document was last indexed: 0 to 36500. 0 marks none."),
        section="general",
    ),
    Preference(
        name="answers_kept_days",
        default=0,
        validate=integer_between(0, _MAX_DAYS),
        label=_("Keep answers (days)"),
        about=_("0 to 36500. 0 keeps them until somebody deletes them."),
        section="retention",
    ),
    Preference(
        name="embedder",
        default=None,
        validate=one_of(lambda: tuple(allowed_embedders())),
        label=_("Embedding model"),
        about=_(
            "default goes by the languages of the documents. Any other applies to the first documents; run"
            " kebab reembed to change it later. Without a model only words are searched."
        ),
        choices=_embedder_choices,
    ),
    Preference(
        name="fusion",
        default=Fusion.CONVEX.value,
        validate=one_of(lambda: tuple(Fusion)),
        label=_("Ranking method"),
        about=_("Joins matches of words and of meaning."),
        choices=_fusion_choices,
        ranks=True,
    ),
    Preference(
        name="vector_share",
        default=VECTOR_SHARE,
        validate=number_between(0, 1),
        label=_("Weight of meaning"),
        about=_("0 to 1, when ranking by scores. Words get the rest."),
        ranks=True,
    ),
    Preference(
        name="rrf_k",
        default=RRF_K,
        validate=integer_between(1, 10_000),
        label=_("Smoothing of ranks (RRF k)"),
        about=_("1 to 10000, when ranking by ranks. Higher values flatten differences."),
        ranks=True,
    ),
    Preference(
        name="breadcrumb_weight",
        default=BREADCRUMB_WEIGHT,
        validate=number_between(0, 100),
        label=_("Weight of titles and headings"),
        about=_("0 to 100. A word in the text counts 1."),
        ranks=True,
    ),
    Preference(
        name="recency",
        default=0.0,
        validate=number_between(0, 1),
        label=_("Prefer recent documents"),
        about=_("0 to 1. The share of its score that an old document loses."),
        ranks=True,
    ),
    Preference(
        name="recency_half_life_days",
        default=DEFAULT_HALF_LIFE_DAYS,
        validate=integer_between(1, _MAX_DAYS),
        label=_("Half-life (days)"),
        about=_("1 to 36500. At this age a document has lost half of that share."),
        ranks=True,
    ),
    Preference(
        name=RULES,
        default=None,
        validate=lazy("search.settings.rules.validate_rules"),
        label=_("Search rules"),
        about=_("Synonyms, stop words, pinned documents, promoted answers and boosts."),
        section=None,
        ranks=True,
        summarise=lazy("search.settings.rules.summarise_rules"),
        need=MANAGE_RULES,
    ),
    Preference(
        name="pre_rerank_max_per_file",
        default=PRE_RERANK_MAX_PER_FILE,
        validate=integer_between(0, MAX_K),
        label=_("Hits per document before reranking"),
        about=format_lazy(_("0 to {most}. 0 sets no limit."), most=MAX_K),
        ranks=True,
    ),
    Preference(
        name="score_gate",
        default=SCORE_GATE,
        validate=number_between(0, 1),
        label=_("Lowest score for an answer"),
        about=_("0 to 1. A question with lower scores is not answered."),
        ranks=True,
    ),
    Preference(
        name=STEMMING,
        default=True,
        validate=boolean,
        label=_("Match word forms"),
        about=_("Without it words match only as written. A change rebuilds the index."),
    ),
    Preference(
        name=QUERY_DAYS,
        default=90,
        validate=integer_between(0, _MAX_DAYS),
        label=_("Keep searches (days)"),
        about=_("For Insight, without the names of people: 0 to 36500. 0 keeps none."),
        section="retention",
    ),
)
