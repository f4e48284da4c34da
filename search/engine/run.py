"""One run of a search over a corpus: legs, fusion, stages and hits."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from django.utils import timezone

from kebab.people.models import Workspace
from search.analysis import Analysis
from search.embedders.configured import embedded_text, embedder_for_queries
from search.embedders.minilm.weights import MODEL
from search.engine.corpus import Corpus
from search.engine.did_you_mean import CorrectedQuery, correct_words, suggest_query
from search.engine.explain import build_explanation
from search.engine.hits import HitBuilder, HitPage
from search.engine.readback import read_documents, read_passages, read_sort_keys
from search.engine.why_not import SearchOutcome, explain_absence
from search.metrics import DEGRADED, stage
from search.mirror.errors import MirrorError
from search.mirror.query import lexical
from search.mirror.query.exact import ExactLeg
from search.mirror.query.lexical import LexicalLeg, LexicalResult
from search.mirror.query.listing import ListingLeg
from search.mirror.query.match import Match
from search.mirror.query.view import MirrorView
from search.mirror.sync.snapshot import analysis_for
from search.retrieval.errors import InvalidQuery
from search.retrieval.fusion.copies import fold_copies, lower_headings
from search.retrieval.fusion.floor import apply_floor
from search.retrieval.fusion.legs import EmptyLeg, Leg, LegName, LegResult, candidate_limit, unpack_ids
from search.retrieval.fusion.post_fusion import PostFusionResult, Stages, apply_stages
from search.retrieval.fusion.ranking import RankedEntry, Ranking, rank_candidates
from search.retrieval.fusion.reorder import SortKeys
from search.retrieval.fusion.scores import vector_share_of
from search.retrieval.index_version import NO_VECTORS, IndexVersion
from search.retrieval.text.unicode_scripts import count_words
from search.retrieval.types import MAX_QUERY_CHARS, Group, LexicalTotal, Mode, SearchQuery, VectorWindow
from search.runtime import runtime
from search.settings.search_settings import SearchSettings
from search.vectors.leg import VectorLeg, warn_of_mismatch
from search.vectors.spaces import LiveSpace

# Chunks from which the legs run concurrently: with 42,000 they share the interpreter for most of their time,
# so that a search takes as long as with one after the other, and a tenth more processor time.
_CONCURRENT_FROM = 200_000
_CUT = (
    f"The query was cut to {MAX_QUERY_CHARS:,} characters, of which an accented letter or a Korean syllable"
    " has several; ask a shorter one."
)
_NO_SNIPPETS = "The time was up before all snippets were made; some are the beginnings of their passages."
# A longer query is none of a few words.
_SHORT_CHARS = 60
_LEGS: Mapping[Mode, tuple[LegName, ...]] = {
    Mode.LEXICAL: ("lexical",),
    Mode.VECTOR: ("vector",),
    Mode.HYBRID: ("lexical", "vector"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a search, with its results."""

    ranked: Ranking
    after: PostFusionResult
    page: HitPage
    #: Chunk ids of the copies of a text, by that of the one in the list.
    copies: Mapping[str, tuple[str, ...]]
    #: The query as it was searched, and the text of its words if some were corrected.
    query: SearchQuery
    corrected_query: str | None
    #: The version of the indexes that answered.
    version: str
    #: The change at which its candidates were found.
    seq: int
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
    with_snippets: bool = True,
    executor: Executor | None = None,
) -> Run:
    """Answer `query` from a corpus. Without its index of words, the other legs answer alone.

    In hybrid mode the legs run concurrently if there is an `executor` and they take long enough. Raises
    InvalidQuery, CandidatesLost.
    """
    search = _Search(corpus, query, stages, with_snippets=with_snippets, executor=executor)
    if not query.is_listing and (query.mode is Mode.VECTOR or search.is_blank):
        return search.run(None)
    try:
        with corpus.open_mirror() as view:
            return (search if query.is_listing else search.correct(view)).run(view)
    except MirrorError:
        DEGRADED.add("lexical", "out_of_time")
        return search.run(None)


class _Search:
    """The parameters of one run."""

    def __init__(
        self,
        corpus: Corpus,
        query: SearchQuery,
        stages: Stages,
        *,
        with_snippets: bool,
        executor: Executor | None,
        corrected: CorrectedQuery | None = None,
    ) -> None:
        """Take the query, and the correction that its channel of words has."""
        self._corpus = corpus
        self._query = query
        self._corrected = corrected
        self._stages = stages
        self._with_snippets = with_snippets
        self._executor = executor
        self._settings = SearchSettings.of(corpus.workspace)
        #: Whether it finds nothing for want of words, so that no index is opened.
        self.is_blank = not (
            query.text.strip() or query.channels or query.explain or query.why_not is not None
        )

    def correct(self, view: MirrorView) -> "_Search":
        """Return the search of the same query with its unknown words corrected."""
        query, corrected = correct_words(self._corpus.workspace, view, self._query)
        if corrected is None:
            return self
        return _Search(
            self._corpus,
            query,
            self._stages,
            with_snippets=self._with_snippets,
            executor=self._executor,
            corrected=corrected,
        )

    def run(self, view: MirrorView | None) -> Run:
        """Run with the index of words, or without it."""
        query, corpus = self._query, self._corpus
        vector = self._vector_leg()
        legs = self._legs(view, vector)
        window = self._stages.window(query.k)
        ranked = rank_candidates(
            query.mode,
            legs,
            corpus.check_visible,
            k=window,
            executor=self._executor if query.mode is Mode.HYBRID and _is_large(view) else None,
            fusion=query.fusion or self._settings.fusion,
            k_rrf=self._settings.rrf_k,
            vector_share=self._vector_share,
        )
        ranked, copies = self._fold_copies(view, ranked)
        ranked = self._apply_floor(ranked, vector)
        after = self._apply_stages(ranked, window)
        words = ranked.results.get("lexical")
        match = words.match if isinstance(words, LexicalResult) else None
        analysis = analysis_for(corpus.workspace) if view is None else view.analysis
        version = index_version_of(corpus.workspace, query.mode, vector.space, analysis)

        def read_entries(start: int, stop: int) -> Sequence[RankedEntry]:
            if self._stages.are_any or stop <= len(after.entries):
                return after.entries[start:stop]
            return ranked.entries(stop, start)

        with stage("hits"):
            page = HitBuilder(
                corpus.workspace,
                corpus.scope,
                query,
                match,
                space=vector.space,
                index_version=version,
                with_snippets=self._with_snippets,
                copies=copies,
            ).build(read_entries, query.k)
        return Run(
            ranked=ranked,
            after=after,
            page=page,
            copies=copies,
            query=query,
            corrected_query=self._correction,
            version=version,
            seq=self._seq(view),
            has_lost_candidates=not (ranked.is_whole and after.is_whole and page.is_whole),
            lexical_total=words.total if isinstance(words, LexicalResult) else None,
            vector_window=_vector_window(ranked, window),
            warnings=self._warn(vector, page),
            did_you_mean=self._suggest_query(view, words),
            explanation=self._explain(view, match, ranked, after, legs, vector, page, copies),
        )

    @property
    def _vector_share(self) -> float:
        """The share of the vectors in hybrid mode, smaller for a query of a few words."""
        share, text = self._settings.vector_share, self._query.effective_channels.vector
        if self._query.mode is not Mode.HYBRID or len(text) > _SHORT_CHARS:
            return share
        return vector_share_of(share, count_words(text))

    @property
    def _correction(self) -> str | None:
        return self._corrected.with_operators if self._corrected and self._query.channels else None

    def _apply_floor(self, ranked: Ranking, vector: VectorLeg) -> Ranking:
        """Mark or leave out related hits. In vector mode the words are looked up for this alone."""
        query = self._query
        is_calibrated = vector.space is not None and vector.space.model == MODEL
        apply = partial(apply_floor, ranked, is_calibrated=is_calibrated, leaves_out=query.floor)
        if query.is_listing or query.mode is not Mode.VECTOR or not len(ranked):
            return apply(ranked.lists.get("lexical"))
        try:
            with self._corpus.open_mirror(may_build=False) as view:
                words = LexicalLeg(view, query.effective_channels.vector, is_unfinished=query.prefix)
                return apply(words.search(0))
        except (MirrorError, InvalidQuery):
            return ranked

    def _fold_copies(
        self, view: MirrorView | None, ranked: Ranking
    ) -> tuple[Ranking, Mapping[str, tuple[str, ...]]]:
        if len(ranked) < 2:
            return ranked, {}
        keys = self._corpus.copy_keys(ranked.ids) if view is None else view.copy_keys(ranked.ids)
        return (ranked, {}) if keys is None else fold_copies(*lower_headings(ranked, keys))

    def _warn(self, vector: VectorLeg, page: HitPage) -> tuple[str, ...]:
        """Return what was cut, why the vector leg takes no part, and which operators let nothing through."""
        operators = self._corpus.scope.operators
        warnings: tuple[str, ...] = (_CUT,) if self._query.is_cut else ()
        message = vector.mismatch or vector.language_message
        if message is not None and self._query.mode is not Mode.LEXICAL:
            warnings += (message,)
        if not page.has_snippets:
            warnings += (_NO_SNIPPETS,)
        return warnings if operators is None else (*warnings, *operators.messages(has_hits=bool(page.hits)))

    def _seq(self, view: MirrorView | None) -> int:
        if view is not None:
            return view.seq
        return self._corpus.scope.head_seq if self._query.mode is Mode.VECTOR or self.is_blank else 0

    def _vector_leg(self) -> VectorLeg:
        query, scope = self._query, self._corpus.scope
        has_vectors = query.mode is not Mode.LEXICAL
        leg = VectorLeg(
            scope.space if has_vectors else None,
            scope.rules.expand(query.effective_channels.vector),
            embedder_for_queries(self._corpus.workspace, scope.space) if has_vectors else None,
            self._corpus.find_nearest,
            # A query in vector mode gets vectors even for a language that the model lacks.
            requires_known_language=query.mode is Mode.HYBRID,
            is_checked=True,
        )
        if leg.mismatch is not None:
            warn_of_mismatch(scope.workspace_id, leg.mismatch)
        return leg

    def _legs(self, view: MirrorView | None, vector: VectorLeg) -> list[Leg]:
        query = self._query
        if query.is_listing:
            if view is None:
                return [EmptyLeg("lexical", is_available=False)]
            return [ListingLeg(view, query.sort, is_checked=self._corpus.is_current(view))]
        if self.is_blank:
            return [EmptyLeg(name, is_available=True) for name in _LEGS[query.mode]]
        if query.mode is Mode.VECTOR:
            return [vector]
        if view is None:
            missing = EmptyLeg("lexical", is_available=False)
            return [missing, vector] if query.mode is Mode.HYBRID else [missing]
        text, is_checked = query.effective_channels.lexical, self._corpus.is_current(view)
        words = LexicalLeg(
            view,
            text,
            breadcrumb_weight=self._settings.breadcrumb_weight,
            is_unfinished=query.prefix,
            is_checked=is_checked,
            counts_documents=query.group is Group.DOCUMENT,
        )
        if query.mode is Mode.LEXICAL:
            return [words]
        exact = ExactLeg(view, text, is_checked=is_checked) if query.exact else None
        return [words, vector, exact] if exact is not None and exact.has_names else [words, vector]

    def _apply_stages(self, ranked: Ranking, window: int) -> PostFusionResult:
        """Apply the stages to the first `window`. Raises CandidatesLost, before a model reads any text."""
        corpus, stages, scope = self._corpus, self._stages, self._corpus.scope
        entries = ranked.entries(window)
        documents: Mapping[str, int] = {}
        is_whole = True
        if stages.are_any:
            documents = read_documents(scope, [entry.chunk_id for entry in entries])
            is_whole = len(documents) == len(entries)
            if not is_whole and ranked.is_whole and corpus.trusts_mirror:
                raise CandidatesLost
            entries = tuple(entry for entry in entries if entry.chunk_id in documents)
        sort_keys: Mapping[str, SortKeys] = {}
        if stages.need_sort_keys:
            sort_keys = read_sort_keys(scope, [entry.chunk_id for entry in entries])
            is_whole = is_whole and len(sort_keys) == len(entries)
            entries = tuple(entry for entry in entries if entry.chunk_id in sort_keys)

        def embedded_passages(chunk_ids: Sequence[str]) -> dict[str, str]:
            return {id_: embedded_text(*each) for id_, each in read_passages(scope, chunk_ids).items()}

        after = apply_stages(
            entries,
            stages,
            query=scope.rules.expand(self._query.effective_channels.rerank),
            document_of=documents,
            passages_of=embedded_passages,
            reranker=runtime().reranker if stages.rerank else None,
            sort_keys=sort_keys,
            today=_today() if stages.recency else None,
        )
        return replace(after, is_whole=after.is_whole and is_whole)

    def _suggest_query(self, view: MirrorView | None, words: LegResult | None) -> str | None:
        if view is None or words is None or not words.is_available or len(words.ids):
            return None
        query, text = self._query, self._query.effective_channels.lexical
        typed = query.text if query.channels is None else None
        if self._corrected is not None:
            typed = self._corrected.typed
        return suggest_query(view, text, partial(read_passages, self._corpus.scope), typed=typed)

    def _explain(
        self,
        view: MirrorView | None,
        match: Match | None,
        ranked: Ranking,
        after: PostFusionResult,
        legs: Sequence[Leg],
        vector: VectorLeg,
        page: HitPage,
        copies: Mapping[str, tuple[str, ...]],
    ) -> Mapping[str, object] | None:
        query, explained = self._query, dict[str, object]()
        if query.explain:
            weights: dict[str, float] = {leg.name: leg.weight for leg in legs}
            explained |= build_explanation(match, ranked, after, weights=weights, k_rrf=self._settings.rrf_k)
            explained["corrected"] = self._correction
            explained["titled"] = _find_titled(legs, ranked)
            explained["copies"] = {chunk_id: list(others) for chunk_id, others in copies.items()}
            if "vector" in ranked.degraded and vector.disabled_reason:
                explained["off"] = {"vector": vector.disabled_reason}
            if (operators := self._corpus.scope.operators) is not None:
                explained["operators"] = {"text": operators.text, "conditions": operators.typed}
        if query.why_not is not None:
            outcome = SearchOutcome(
                view=view, match=match, ranked=ranked, after=after, hits=page.hits, copies=copies
            )
            verdict = explain_absence(query.why_not, self._corpus.scope, outcome)
            explained["why_not"] = verdict.as_json(query.why_not)
        return explained or None


def _today() -> datetime:
    """Return the beginning of the day: until the next one a query has the same scores."""
    return timezone.now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def _find_titled(legs: Sequence[Leg], ranked: Ranking) -> list[str]:
    """Return the candidates that are first chunks of documents with the query as their title."""
    titled = {id_ for leg in legs if isinstance(leg, ExactLeg) for id_ in leg.titled}
    return [id_ for id_ in unpack_ids(ranked.lists["exact"].ids) if id_ in titled] if titled else []


def _is_large(view: MirrorView | None) -> bool:
    return view is not None and len(view.collection.chunks.docs) >= _CONCURRENT_FROM


def _vector_window(ranked: Ranking, window: int) -> VectorWindow | None:
    """Return the numbers of vector candidates that were asked for and found; None if the leg did not run."""
    found = ranked.lists.get("vector")
    return None if found is None else VectorWindow(asked=candidate_limit(window), found=len(found.ids))


def index_version_of(workspace: Workspace, mode: Mode, space: LiveSpace | None, analysis: Analysis) -> str:
    """Return the version of the indexes that answer in `mode`."""
    words = vectors = None
    if mode is not Mode.VECTOR:
        words = lexical.index_version(SearchSettings.of(workspace).breadcrumb_weight, analysis)
    if mode is not Mode.LEXICAL:
        vectors = NO_VECTORS if space is None else space.index_version
    return str(IndexVersion(lexical=words, vector=vectors))
