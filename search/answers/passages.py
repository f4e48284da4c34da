"""Retrieval for a question: hits, the texts of their passages, and the decision of the gates."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import chain
from typing import Final

import apsw

from kebab.identity.models import Workspace
from kebab.identity.reader import Reader
from search.access.scope import SearchScope
from search.analysis import STEMMED, Analysis
from search.answers.answerability import (
    COVERAGE_PASSAGES,
    Evidence,
    WeightedWord,
    coverage,
    refusal,
    weigh_words,
)
from search.answers.contradiction import AskedNumbers
from search.answers.focus import Question
from search.answers.quotes import Origin
from search.answers.request import AnswerRequest
from search.answers.types import AnswerHit, AnswerReason
from search.context.budget import text_counter
from search.context.types import BudgetUnit
from search.embedders.bert.model import ENGLISH_MODEL, MULTILINGUAL_MODEL
from search.embedders.configured import embedder_for_queries
from search.engine.corpus import mirror_source
from search.engine.nearest_sentences import find_nearest
from search.engine.readback import read_passages
from search.engine.search import resolve_scope_at_seq, search_in_scope
from search.mirror.files import MirrorError
from search.rerank.configured import reranker
from search.retrieval.fusion.floor import MIDDLING
from search.retrieval.outdated import family_and_edition, is_asked_for
from search.retrieval.query.channels import QueryChannels
from search.retrieval.query.parser import parse_query
from search.retrieval.text.unicode_scripts import words_of
from search.retrieval.types import Mode, SearchHit, SearchQuery, SearchResult, VectorWindow
from search.settings.search_settings import SearchSettings

# What a contrast counts for, in the language of the question and in another, where words are rarely the same:
# one of 0.28 is enough without any (docs/evaluation/answers.md).
_WEIGHT, _OTHER_LANGUAGE_WEIGHT = 1.75, 3.5
# The nearest passage in another language is as clear by a contrast of 0.1 with the next one.
_NEXT_WEIGHT: Final = 2.8
# The multilingual model's score of a middling candidate, at most.
_MIDDLING_AT_MOST: Final = 0.95


def measure_closeness(hits: Sequence[SearchHit], window: VectorWindow | None) -> Mapping[str, float]:
    """Return the closeness of hits to their question, by chunk id; nothing without a vector score.

    Of the English model it is the cosine. Cosines of the multilingual one lie close together, also of
    unrelated texts: its contrast counts, with a middling candidate or, of the nearest, with the next one.
    Nothing is known of other models, with which the limits were not measured.
    """
    scores = {
        hit.chunk_id: score
        for hit in hits
        if hit.embedding_model in (ENGLISH_MODEL, MULTILINGUAL_MODEL)
        and (score := hit.retrieval.vector_score) is not None
    }
    if not scores or hits[0].embedding_model == ENGLISH_MODEL:
        return {chunk_id: 2 * score - 1 for chunk_id, score in scores.items()}
    middling = MIDDLING if window is None or window.middling_score is None else window.middling_score
    best, following = (*sorted(scores.values(), reverse=True), middling)[:2]
    return {
        hit.chunk_id: _OTHER_LANGUAGE_WEIGHT
        * max(_contrast(score, middling), _NEXT_WEIGHT * _contrast(score, following) * (score == best))
        if hit.other_language
        else _WEIGHT * _contrast(score, middling)
        for hit in hits
        if (score := scores.get(hit.chunk_id)) is not None
    }


def _contrast(score: float, other: float) -> float:
    return (score - other) / (1 - min(other, _MIDDLING_AT_MOST))


#: Token budget of the passages of an extractive answer.
EXTRACTIVE_TOKENS: Final = 8_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A hit with its text."""

    hit: AnswerHit
    text: str
    #: Index terms of its headings and its text.
    terms: frozenset[str]
    #: How close question and passage are by their vectors; None when unknown.
    closeness: float | None
    origin: Origin
    dated_at: datetime

    @property
    def whole_text(self) -> str:
        """Return its title, its headings and its text."""
        return f"{self.origin.all_headings}\n{self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalOutcome:
    """The outcome of the search for a question."""

    result: SearchResult
    #: All hits; those that fit the token budget are numbered.
    hits: tuple[AnswerHit, ...]
    #: The numbered hits, in order.
    passages: tuple[Passage, ...]
    #: Content words of the question; None when no mirror was available to look them up.
    words: tuple[WeightedWord, ...] | None
    analysis: Analysis
    refusal: AnswerReason | None
    #: As it was searched.
    question: Question
    #: Finds the text that is nearest to the question in meaning, where a model compares languages.
    nearest: Callable[[Sequence[str]], int | None] | None
    #: Whether no current page answers, so that outdated ones are among the passages.
    is_outdated: bool = False


def find_passages(
    workspace: Workspace, reader: Reader, request: AnswerRequest, question: Question, *, tokens: int
) -> RetrievalOutcome:
    """Search for `question`, what the request asks in its conversation, and apply the gates.

    Outdated pages count only where no current page answers, or where the question asks for them. The passages
    have `tokens` tokens at most. Raises InvalidQuery and InvalidFilter, NotSearchableYet,
    Workspace.DoesNotExist.
    """
    scope = resolve_scope_at_seq(workspace, request.filters, reader, request.min_seq)
    text = _strip_quotes(question.text)
    query = SearchQuery(
        text=text,
        mode=request.mode,
        k=request.k,
        filters=request.filters,
        channels=QueryChannels(vector=text, lexical=text, rerank=text),
        cutoff=True,
        recency=request.recency,
        rerank=reranker() is not None,
    )
    result = search_in_scope(workspace, scope, query, with_snippets=False)
    texts = read_passages(scope, [hit.chunk_id for hit in result.hits])
    hits = [hit for hit in result.hits if hit.chunk_id in texts]

    def judge(hits: Sequence[SearchHit]) -> RetrievalOutcome:
        words, analysis = _weigh_words(workspace, scope, question) if hits else (None, STEMMED)
        asked = AskedNumbers.of(question.asking) or AskedNumbers.of(question.text)
        about = [
            hit
            for hit in hits
            # Its text doesn't contradict the numbers of the question.
            if not asked
            or asked.judge("\n".join((hit.title, *hit.heading_path, texts[hit.chunk_id][1]))) >= 0
        ]
        closeness = measure_closeness(result.hits, result.vector_window)
        passages = _pack_passages(about, texts, analysis, tokens, closeness)
        numbers = {passage.hit.chunk_id: passage.hit.n for passage in passages}
        evidence = _evidence(hits, passages, words)
        return RetrievalOutcome(
            result=result,
            hits=tuple(_build_hit(hit, numbers.get(hit.chunk_id)) for hit in hits),
            passages=passages,
            words=words,
            analysis=analysis,
            refusal=AnswerReason.NOT_COVERED
            if hits and not about
            else _refusal(workspace, evidence, request),
            question=question,
            nearest=_nearest_finder(workspace, scope, text) if passages else None,
        )

    current = [hit for hit in hits if not _is_outdated(hit, text)]
    found = judge(current)
    if found.refusal is None or len(current) == len(hits):
        return found
    found = judge(hits)
    return replace(found, is_outdated=found.refusal is None)


def _is_outdated(hit: SearchHit, asked: str) -> bool:
    """Return whether a hit is of an outdated page that the question doesn't ask for."""
    edition = family_and_edition(hit.title, hit.doc_path)[1] if hit.outdated else ""
    return hit.outdated and not is_asked_for(words_of(asked), edition)


def _nearest_finder(
    workspace: Workspace, scope: SearchScope, text: str
) -> Callable[[Sequence[str]], int | None] | None:
    if scope.space is None or not scope.space.crosses_languages:
        return None
    embedder = embedder_for_queries(workspace, scope.space)
    return None if embedder is None else partial(find_nearest, embedder, text)


def _strip_quotes(question: str) -> str:
    """Remove the quotes around a question, so that it isn't parsed as a raw query."""
    while parse_query(question).raw is not None:
        question = question.strip().removeprefix("'").removesuffix("'")
    return question


def _pack_passages(
    hits: Sequence[SearchHit],
    texts: Mapping[str, tuple[str, str]],
    analysis: Analysis,
    tokens: int,
    closeness: Mapping[str, float],
) -> tuple[Passage, ...]:
    """Number the hits whose texts fit the budget, in order, skipping those without text or too long."""
    count, _ = text_counter(BudgetUnit.TOKENS)
    packed: list[Passage] = []
    for hit in hits:
        breadcrumb, text = texts[hit.chunk_id]
        size = count(f"{breadcrumb} {text}")
        if size > tokens or not text:
            continue
        tokens -= size
        packed.append(
            Passage(
                hit=_build_hit(hit, len(packed) + 1),
                text=text,
                terms=terms_of(f"{breadcrumb}\n{text}", analysis),
                closeness=closeness.get(hit.chunk_id),
                origin=_origin(hit),
                dated_at=hit.date,
            )
        )
    return tuple(packed)


def _origin(hit: SearchHit) -> Origin:
    return Origin(
        path=hit.doc_path,
        title=hit.title,
        lang=hit.lang,
        code_lang=hit.code_lang,
        headings=hit.heading_path,
    )


def terms_of(text: str, analysis: Analysis) -> frozenset[str]:
    """Return the index terms of a text."""
    return frozenset(term for token in analysis.analyse(text) for term in token[2:])


def _weigh_words(
    workspace: Workspace, scope: SearchScope, question: Question
) -> tuple[tuple[WeightedWord, ...] | None, Analysis]:
    """Weight the question's words by the chunks that its reader may read; None without a mirror."""
    mirror = mirror_source(workspace, scope)
    try:
        with mirror.open_for_leg() as view:

            def frequencies(terms: Iterable[str]) -> dict[str, int]:
                return view.collection.frequencies(view.connection, terms)

            chunk_count = view.collection.chunks.chunk_count
            text = _strip_quotes(question.text)
            words = weigh_words(text, view.analysis, frequencies, chunk_count, scope.rules, asked=question)
            return _weigh_numbers(words, text, view.analysis), view.analysis
    except (MirrorError, apsw.InterruptError):
        return None, STEMMED


def _weigh_numbers(
    words: tuple[WeightedWord, ...], text: str, analysis: Analysis
) -> tuple[WeightedWord, ...]:
    """Return the words with numbers in parts for their parts, and their weight: 6.5 has all parts of 5.6."""
    numbers = analysis.number_terms(text)
    if not numbers:
        return words
    wholes = {terms for _, _, terms in numbers}
    parts = frozenset().union(*(terms_of(text[start:end], analysis) for start, end, _ in numbers))
    are_parts = [parts.issuperset(chain.from_iterable(word.positions)) for word in words]
    weight = sum(word.weight for word, is_part in zip(words, are_parts, strict=True) if is_part)
    return tuple(
        replace(word, weight=weight / len(wholes)) if is_part else word
        for word, is_part in zip(words, are_parts, strict=True)
        if not is_part or word.positions[0] in wholes
    )


def _evidence(
    hits: Sequence[SearchHit], passages: Sequence[Passage], words: Sequence[WeightedWord] | None
) -> Evidence | None:
    if not passages:
        return None
    closeness = [passage.closeness for passage in passages if passage.closeness is not None]
    covering = passages[:COVERAGE_PASSAGES] if closeness else passages
    return Evidence(
        best_score=max(hit.retrieval.fusion_score for hit in hits),
        coverage=None if words is None else coverage(words, (each.terms for each in covering)),
        closeness=max(closeness, default=None),
    )


def _refusal(workspace: Workspace, evidence: Evidence | None, request: AnswerRequest) -> AnswerReason | None:
    if evidence is None:
        return AnswerReason.NO_CHUNKS
    return refusal(evidence, _score_gate(workspace, request.mode))


def _score_gate(workspace: Workspace, mode: Mode) -> float:
    """Return the workspace's score gate; lexical search has none unless the workspace sets one.

    bm25 collapses on small or uniform collections: of two chunks the one that has all words scores 0.0001.
    """
    if mode is Mode.LEXICAL and "score_gate" not in workspace.settings:
        return 0.0
    return SearchSettings.of(workspace).score_gate


def _build_hit(hit: SearchHit, n: int | None) -> AnswerHit:
    return AnswerHit(
        rank=hit.rank,
        score=hit.score,
        n=n,
        chunk_id=hit.chunk_id,
        doc_id=hit.doc_id,
        title=hit.title,
        heading_path=hit.heading_path,
        source=hit.source,
        version=hit.version,
        trust_level=hit.trust_level,
        citation=hit.citation,
    )
