"""One run of a search over a corpus: legs, fusion, stages and hits."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

import numpy as np
from django.utils import timezone

from kebab.identity.models import Workspace
from search.analysis import Analysis
from search.embedders.configured import embedded_text
from search.engine.candidates import Candidates, find_candidates, is_blank
from search.engine.corpus import Corpus
from search.engine.did_you_mean import (
    CorrectedQuery,
    correct_words,
    suggest_identifiers,
    suggest_query,
)
from search.engine.explain import build_explanation
from search.engine.hits import HitBuilder, HitPage, LateSnippets
from search.engine.readback import read_documents, read_passages, read_sort_keys
from search.engine.why_not import SearchOutcome, explain_absence
from search.metrics import DEGRADED, stage
from search.mirror.files import MirrorError
from search.mirror.query import lexical
from search.mirror.query.lexical import LexicalResult
from search.mirror.query.view import MirrorView
from search.mirror.sync.snapshot import analysis_for
from search.rerank.configured import reranker
from search.retrieval.deadline import is_over
from search.retrieval.fusion.floor import LEAST_CANDIDATES, middling_score
from search.retrieval.fusion.legs import candidate_limit
from search.retrieval.fusion.post_fusion import PostFusionResult, Stages, apply_stages
from search.retrieval.fusion.ranking import RankedEntry, Ranking
from search.retrieval.fusion.reorder import SortKeys
from search.retrieval.index_version import NO_VECTORS, IndexVersion
from search.retrieval.types import MAX_K, MAX_QUERY_CHARS, LexicalTotal, Mode, SearchQuery, VectorWindow
from search.settings.search_settings import SearchSettings
from search.vectors.leg import VectorLeg
from search.vectors.spaces import LiveSpace

_CUT = (
    f"The query was cut to {MAX_QUERY_CHARS:,} characters, of which an accented letter or a Korean syllable"
    " has several; ask a shorter one."
)
_NO_SNIPPETS = "The time was up before all snippets were made; some are the beginnings of their passages."


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a search, with its results."""

    ranked: Ranking
    after: PostFusionResult
    page: HitPage
    #: Chunk ids of the copies of a text, by that of the one in the list.
    copies: Mapping[str, tuple[str, ...]]
    #: Chunk ids of older versions, by those of the chunks of what replaces them.
    older: Mapping[str, tuple[str, ...]]
    #: The query as it was searched, and the text of its words if some were corrected.
    query: SearchQuery
    corrected_query: str | None
    #: The version of the indexes that answered.
    version: str
    #: The number of fused candidates considered, and whether there may be others that belong into the list.
    window: int
    is_cut: bool
    #: Number and token of the change at which its candidates were found.
    position: tuple[int, int]
    #: Whether a candidate was no longer visible when it was checked, or read.
    has_lost_candidates: bool
    lexical_total: LexicalTotal | None
    vector_window: VectorWindow | None
    warnings: tuple[str, ...]
    did_you_mean: str | None
    #: None unless the query asks for it.
    explanation: Mapping[str, object] | None


class CandidatesLost(Exception):
    """A candidate is not visible any more, although the mirror shows it."""


def run_search(
    corpus: Corpus,
    query: SearchQuery,
    stages: Stages,
    *,
    with_snippets: bool | LateSnippets = True,
    executor: Executor | None = None,
) -> Run:
    """Answer `query` from a corpus. Without its index of words, the other legs answer alone.

    In hybrid mode the legs run concurrently if there is an `executor` and they take long enough. Raises
    InvalidQuery, CandidatesLost.
    """
    run = partial(_run, corpus, stages, with_snippets=with_snippets, executor=executor)
    if not query.is_listing and is_blank(query):
        return run(query, None)
    needs_words = query.is_listing or query.mode is not Mode.VECTOR
    try:
        with corpus.open_mirror(may_build=needs_words) as view:
            if not needs_words:
                return run(query, None)
            if query.is_listing:
                return run(query, view)
            searched, corrected = correct_words(corpus.workspace, view, query)
            return run(searched, view, corrected)
    except MirrorError:
        if needs_words:
            DEGRADED.add("lexical", "out_of_time")
        return run(query, None)


def _run(
    corpus: Corpus,
    stages: Stages,
    query: SearchQuery,
    view: MirrorView | None,
    corrected: CorrectedQuery | None = None,
    *,
    with_snippets: bool | LateSnippets,
    executor: Executor | None,
) -> Run:
    """Run with the index of words, or without it; `corrected` is how words of the query were corrected.

    If candidates fold into fewer than k hits, it runs again with the widest window, in what time is left.
    """
    window = stages.window(query.k)
    found = find_candidates(corpus, query, view, window=window, executor=executor)
    ranked = found.ranked
    after = _apply_stages(corpus, query, stages, ranked, window)
    listed = len(after.entries) - (len(after.over_cap) if stages.fills_up else 0)
    is_short = listed < query.k or listed == query.k < window or stages.are_widest
    is_cut = _may_go_on(query, stages, ranked, after)
    if is_cut and is_short:
        is_cut = view is None or _count_possible(view, stages) > listed
    if is_cut and listed < query.k and window < MAX_K and not is_over():
        wider = replace(stages, are_widest=True)
        again = _run(corpus, wider, query, view, corrected, with_snippets=with_snippets, executor=executor)
        if again.ranked.degraded == ranked.degraded:
            return again
    words = ranked.results.get("lexical")
    match = words.match if isinstance(words, LexicalResult) else None
    analysis = analysis_for(corpus.workspace) if view is None else view.analysis
    version = index_version_of(corpus.workspace, query.mode, found.vector.space, analysis)
    page = _build_page(corpus, query, stages, found, after, version=version, with_snippets=with_snippets)
    outcome = SearchOutcome(found=found, match=match, after=after, page=page)
    correction = corrected.corrected if corrected else None
    end = (list_end(window),) if is_cut and listed < query.k else ()
    return Run(
        ranked=ranked,
        after=after,
        page=page,
        copies=found.copies,
        older=found.older,
        query=query,
        corrected_query=correction,
        version=version,
        window=window,
        is_cut=is_cut,
        position=_position(corpus, query, view),
        has_lost_candidates=not (ranked.is_whole and after.is_whole and page.is_whole),
        lexical_total=words.total if isinstance(words, LexicalResult) else None,
        vector_window=_vector_window(ranked, window),
        warnings=_warn(corpus, query, found.vector, page) + end,
        did_you_mean=_suggest_query(corpus, query, found, corrected),
        explanation=_explain(corpus, query, outcome, correction),
    )


def _build_page(
    corpus: Corpus,
    query: SearchQuery,
    stages: Stages,
    found: Candidates,
    after: PostFusionResult,
    *,
    version: str,
    with_snippets: bool | LateSnippets,
) -> HitPage:
    def read_entries(start: int, stop: int) -> Sequence[RankedEntry]:
        if stages.are_any or stop <= len(after.entries):
            return after.entries[start:stop]
        return found.ranked.entries(stop, start)

    with stage("hits"):
        return HitBuilder(
            corpus.workspace,
            corpus.scope,
            query,
            found.words.match if isinstance(found.words, LexicalResult) else None,
            space=found.vector.space,
            index_version=version,
            with_snippets=with_snippets,
            copies=found.copies,
            older=found.older,
        ).build(read_entries, query.k)


def _may_go_on(query: SearchQuery, stages: Stages, ranked: Ranking, after: PostFusionResult) -> bool:
    """Return whether candidates outside of the window may belong into the list.

    By design a rerank and a cutoff end the list, and a floor has cut what is behind it.
    """
    is_closed = stages.rerank or stages.cutoff or (query.floor and len(ranked.below_floor) > 0)
    return not is_closed and (ranked.may_have_more or after.is_cut)


def _count_possible(view: MirrorView, stages: Stages) -> int:
    """Return the most entries that a list of all chunks would have."""
    counts = np.bincount(view.collection.chunks.docs[view.passes])
    most = stages.most_per_document
    return int((np.minimum(counts, most) if most > 0 else counts).sum())


def _apply_stages(
    corpus: Corpus, query: SearchQuery, stages: Stages, ranked: Ranking, window: int
) -> PostFusionResult:
    """Apply the stages to the candidates in the window.

    Raises CandidatesLost, before a model reads any text, unless some have been lost before.
    """
    scope, entries = corpus.scope, ranked.entries(window)
    documents: Mapping[str, int] = {}
    sort_keys: Mapping[str, SortKeys] = {}
    is_whole, is_cut = True, False
    if stages.are_any:
        documents = read_documents(scope, [entry.chunk_id for entry in entries])
        is_whole, is_cut = len(documents) == len(entries), len(ranked.ids) > window
        if not is_whole:
            if ranked.is_whole and corpus.trusts_mirror:
                raise CandidatesLost
            entries = tuple(entry for entry in entries if entry.chunk_id in documents)
        if stages.need_sort_keys:
            sort_keys = read_sort_keys(scope, [entry.chunk_id for entry in entries])
            is_whole = is_whole and len(sort_keys) == len(entries)
            entries = tuple(entry for entry in entries if entry.chunk_id in sort_keys)

    def embedded_passages(chunk_ids: Sequence[str]) -> dict[str, str]:
        return {id_: embedded_text(*each) for id_, each in read_passages(scope, chunk_ids).items()}

    after = apply_stages(
        entries,
        stages,
        query=scope.rules.expand(query.effective_channels.rerank),
        document_of=documents,
        passages_of=embedded_passages,
        reranker=reranker() if stages.rerank else None,
        sort_keys=sort_keys,
        today=_today() if stages.recency else None,
    )
    return replace(after, is_whole=after.is_whole and is_whole, is_cut=is_cut)


def _position(corpus: Corpus, query: SearchQuery, view: MirrorView | None) -> tuple[int, int]:
    if view is not None:
        return view.position
    return corpus.scope.head if query.mode is Mode.VECTOR or is_blank(query) else (0, 0)


def list_end(window: int) -> str:
    """Return the warning at the end of a list that may go on beyond its window."""
    return f"The list ends with the best {window:,} passages; others may match. Add words or filters."


def _warn(corpus: Corpus, query: SearchQuery, vector: VectorLeg, page: HitPage) -> tuple[str, ...]:
    """Return what was cut, why the vector leg takes no part, and which operators let nothing through."""
    operators = corpus.scope.operators
    warnings: tuple[str, ...] = (_CUT,) if query.is_cut else ()
    message = vector.mismatch or vector.language_message
    if message is not None and query.mode is not Mode.LEXICAL:
        warnings += (message,)
    if not page.has_snippets:
        warnings += (_NO_SNIPPETS,)
    return warnings if operators is None else (*warnings, *operators.messages(has_hits=bool(page.hits)))


def _suggest_query(
    corpus: Corpus, query: SearchQuery, found: Candidates, corrected: CorrectedQuery | None
) -> str | None:
    words = found.ranked.results.get("lexical")
    if found.view is None or not isinstance(words, LexicalResult) or not words.is_available:
        return None
    if words.total is not None and words.total.value:
        return None
    typed = query.text if query.channels is None else None
    if corrected is not None:
        typed = corrected.typed
    text = query.effective_channels.lexical
    suggest = suggest_identifiers if len(words.ids) else suggest_query
    return suggest(found.view, text, partial(read_passages, corpus.scope), typed=typed)


def _explain(
    corpus: Corpus, query: SearchQuery, outcome: SearchOutcome, correction: str | None
) -> Mapping[str, object] | None:
    explained = dict[str, object]()
    if query.explain:
        found, operators = outcome.found, corpus.scope.operators
        text = query.effective_channels.lexical
        explained |= build_explanation(outcome, text, k_rrf=SearchSettings.of(corpus.workspace).rrf_k)
        explained["corrected"] = correction
        explained["copies"] = {chunk_id: list(others) for chunk_id, others in found.copies.items()}
        if "vector" in found.ranked.degraded and found.vector.disabled_reason:
            explained["off"] = {"vector": found.vector.disabled_reason}
        if operators is not None:
            explained["operators"] = {"text": operators.text, "conditions": operators.typed}
    if query.why_not is not None:
        verdict = explain_absence(query.why_not, corpus.scope, outcome)
        explained["why_not"] = verdict.as_json(query.why_not)
    return explained or None


def _today() -> datetime:
    """Return the beginning of the day: until the next one a query has the same scores."""
    return timezone.now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def _vector_window(ranked: Ranking, window: int) -> VectorWindow | None:
    """Return the numbers of vector candidates that were asked for and found; None if the leg did not run."""
    found = ranked.lists.get("vector")
    if found is None:
        return None
    middling = middling_score(found.scores) if len(found.ids) >= LEAST_CANDIDATES else None
    return VectorWindow(asked=candidate_limit(window), found=len(found.ids), middling_score=middling)


def index_version_of(workspace: Workspace, mode: Mode, space: LiveSpace | None, analysis: Analysis) -> str:
    """Return the version of the indexes that answer in `mode`."""
    words = vectors = None
    if mode is not Mode.VECTOR:
        words = lexical.index_version(SearchSettings.of(workspace).breadcrumb_weight, analysis)
    if mode is not Mode.LEXICAL:
        vectors = NO_VECTORS if space is None else space.index_version
    return str(IndexVersion(lexical=words, vector=vectors))
