"""Candidates of a search: the legs that look for them, their fusion, the folding of copies, and the floor."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from search.embedders.bert.model import ENGLISH_MODEL, MULTILINGUAL_MODEL
from search.embedders.configured import embedder_for_queries
from search.embedders.query_language import guess_language
from search.engine.corpus import Corpus
from search.mirror.query.exact import ExactLeg
from search.mirror.query.lexical import LexicalLeg
from search.mirror.query.listing import ListingLeg
from search.mirror.query.view import MirrorView
from search.retrieval.errors import InvalidQuery
from search.retrieval.fusion.copies import fold_copies, lower_headings, lower_outdated
from search.retrieval.fusion.floor import CONTRAST, MULTILINGUAL_CONTRAST, apply_floor
from search.retrieval.fusion.legs import EmptyLeg, Leg, LegName, LegResult
from search.retrieval.fusion.ranking import Ranking, rank_candidates, rank_nothing
from search.retrieval.fusion.scores import ACROSS_LANGUAGES_SHARE, vector_share_of
from search.retrieval.outdated import is_asked_for
from search.retrieval.query.conditions import one_of
from search.retrieval.text.unicode_scripts import count_words, words_of
from search.retrieval.types import Fusion, Group, Mode, SearchQuery, Sort
from search.settings.search_settings import SearchSettings
from search.vectors.leg import VectorLeg, warn_of_mismatch

# Chunks from which the legs run concurrently: with 42,000 they share the interpreter for most of their time,
# so that a search takes as long as with one after the other, and a tenth more processor time.
_CONCURRENT_FROM = 200_000
# Limits of the floor by model.
_CONTRASTS: dict[str, float | None] = {ENGLISH_MODEL: None, MULTILINGUAL_MODEL: MULTILINGUAL_CONTRAST}
# Fewer documents in a language than this share are taken for errors of its recognition.
_LEAST_SHARE = 0.01
# A longer query is none of a few words.
_SHORT_CHARS = 60
_LEGS: Mapping[Mode, tuple[LegName, ...]] = {
    Mode.LEXICAL: ("lexical",),
    Mode.VECTOR: ("vector",),
    Mode.HYBRID: ("lexical", "vector"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The ranked candidates of a search, with what found them."""

    #: The index of words; None if they were found without it.
    view: MirrorView | None
    #: The leg of vectors, whether or not it took part.
    vector: VectorLeg
    legs: Sequence[Leg]
    ranked: Ranking
    #: Chunk ids of the copies of a text, by that of the one in the list.
    copies: Mapping[str, tuple[str, ...]]
    #: Chunk ids of older versions, by those of the chunks of what replaces them.
    older: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: The query's words, looked up in vector mode for the floor alone; None if they were not.
    words: LegResult | None


def find_candidates(
    corpus: Corpus, query: SearchQuery, view: MirrorView | None, *, window: int, executor: Executor | None
) -> Candidates:
    """Rank what the legs find, at least the best `window`; the legs of a large corpus run concurrently."""
    settings = SearchSettings.of(corpus.workspace)
    is_concurrent = executor is not None and query.mode is Mode.HYBRID and _is_large(view)
    vector = _vector_leg(corpus.without_view() if is_concurrent else corpus, query)
    if is_blank(query) and not query.is_listing:
        ranked = rank_nothing(query.mode, _LEGS[query.mode])
        return Candidates(view=view, vector=vector, legs=(), ranked=ranked, copies={}, words=None)
    legs = _choose_legs(corpus, query, view, vector, settings.breadcrumb_weight)
    fusion = query.fusion or settings.fusion
    ranked = rank_candidates(
        query.mode,
        legs,
        corpus.check_visible,
        k=window,
        executor=executor if is_concurrent else None,
        fusion=fusion,
        k_rrf=settings.rrf_k,
        vector_share=_vector_share(query, settings.vector_share, view, vector),
        is_foreign=_other_languages(query, view, vector),
    )
    ranked, copies, older = _fold_copies(corpus, query, view, ranked)
    words = ranked.results.get("lexical") or _look_up_words(corpus, query, ranked)
    contrast = CONTRAST if vector.space is None else _CONTRASTS.get(vector.space.model, CONTRAST)
    ranked = apply_floor(
        ranked,
        words,
        contrast=contrast,
        leaves_out=query.floor,
        measures_relevance=fusion is not Fusion.RRF or query.mode is not Mode.HYBRID,
    )
    return Candidates(
        view=view, vector=vector, legs=legs, ranked=ranked, copies=copies, older=older, words=words
    )


def is_blank(query: SearchQuery) -> bool:
    """Return whether a query finds nothing for want of words, so that no index is opened."""
    return not (query.text.strip() or query.channels or query.explain or query.why_not is not None)


def _vector_leg(corpus: Corpus, query: SearchQuery) -> VectorLeg:
    scope = corpus.scope
    has_vectors = query.mode is not Mode.LEXICAL
    leg = VectorLeg(
        scope.space if has_vectors else None,
        scope.rules.expand(query.effective_channels.vector),
        embedder_for_queries(corpus.workspace, scope.space) if has_vectors else None,
        corpus.find_nearest,
        # A query in vector mode gets vectors even for a language that the model lacks.
        requires_known_language=query.mode is Mode.HYBRID,
        is_checked=True,
    )
    if leg.mismatch is not None:
        warn_of_mismatch(scope.workspace_id, leg.mismatch)
    return leg


def _choose_legs(
    corpus: Corpus, query: SearchQuery, view: MirrorView | None, vector: VectorLeg, breadcrumb_weight: float
) -> list[Leg]:
    if query.is_listing and view is not None:
        return [ListingLeg(view, query.sort, is_checked=corpus.is_current(view))]
    others: list[Leg] = [] if query.is_listing or query.mode is Mode.LEXICAL else [vector]
    if query.mode is Mode.VECTOR and others:
        return others
    if view is None:
        return [EmptyLeg("lexical"), *others]
    text, is_checked = query.effective_channels.lexical, corpus.is_current(view)
    words = LexicalLeg(
        view,
        text,
        breadcrumb_weight=breadcrumb_weight,
        is_unfinished=query.is_unfinished,
        is_checked=is_checked,
        counts_documents=query.group is Group.DOCUMENT,
        needs_words=query.needs_words,
    )
    exact = None
    if others and query.exact:
        exact = ExactLeg(view, text, is_unfinished=query.is_unfinished, is_checked=is_checked)
    return [words, *others, *([exact] if exact is not None and exact.has_names else [])]


def _vector_share(query: SearchQuery, share: float, view: MirrorView | None, vector: VectorLeg) -> float:
    """Return the share of the vectors in hybrid mode, smaller for a query of a few words.

    It is greater for one in a language that no document is in, where words are found by chance.
    """
    text = query.effective_channels.vector
    if vector.crosses_languages and view is not None and _is_in_no_document(text, view):
        return max(share, ACROSS_LANGUAGES_SHARE)
    is_short = query.mode is Mode.HYBRID and len(text) <= _SHORT_CHARS
    return vector_share_of(share, count_words(text)) if is_short else share


def _other_languages(
    query: SearchQuery, view: MirrorView | None, vector: VectorLeg
) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return what tells chunks in other languages than the query's; None if it tells none or all."""
    if view is None or query.mode is not Mode.HYBRID or not vector.crosses_languages:
        return None
    known = [lang for lang in view.collection.document_languages(view.connection) if lang != "und"]
    asked = guess_language(query.effective_channels.vector) if len(known) > 1 else None
    others = tuple(lang for lang in known if lang.partition("-")[0] != asked)
    if asked is None or not 0 < len(others) < len(known):
        return None
    is_other = np.append(view.collection.mask(view.connection, one_of("lang", others)), False)
    # Row -1, of a chunk that the mirror lacks, is the one appended.
    return lambda ids: is_other[view.rows_of(ids)]


def _is_in_no_document(text: str, view: MirrorView) -> bool:
    language = guess_language(text, is_certain=True)
    counts = view.collection.document_languages(view.connection)
    own = sum(count for lang, count in counts.items() if lang.partition("-")[0] == language)
    # Where most documents show no language, as short texts and code do, any may be in the query's.
    unclear, total = counts.get("und", 0), sum(counts.values())
    return language is not None and 2 * unclear <= total and own < _LEAST_SHARE * total


def _fold_copies(
    corpus: Corpus, query: SearchQuery, view: MirrorView | None, ranked: Ranking
) -> tuple[Ranking, Mapping[str, tuple[str, ...]], Mapping[str, tuple[str, ...]]]:
    if not len(ranked):
        return ranked, {}, {}
    keys = corpus.copy_keys(ranked.ids) if view is None else view.copy_keys(ranked.ids)
    if keys is None:
        return ranked, {}, {}
    older: Mapping[str, tuple[str, ...]] = {}
    ranked, keys = lower_headings(ranked, keys)
    if keys.outdated is not None:
        # A list in another order has all documents.
        is_asked: Callable[[str], bool] = partial(is_asked_for, words_of(query.text))
        ranked, keys, older = lower_outdated(
            ranked, keys, is_asked_for=is_asked if query.sort is Sort.RELEVANCE else _is_any, now=time.time()
        )
    return *fold_copies(ranked, keys), older


def _is_any(edition: str) -> bool:
    return True


def _look_up_words(corpus: Corpus, query: SearchQuery, ranked: Ranking) -> LegResult | None:
    if corpus.view is None or query.mode is not Mode.VECTOR or not len(ranked):
        return None
    try:
        return LexicalLeg(
            corpus.view, query.effective_channels.vector, is_unfinished=query.is_unfinished
        ).search(0)
    except InvalidQuery:
        return None


def _is_large(view: MirrorView | None) -> bool:
    return view is not None and len(view.collection.chunks.docs) >= _CONCURRENT_FROM
