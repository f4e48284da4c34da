"""What was found for a question: hits, the texts of their passages, and what tells how well they fit it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import apsw

from kebab.people.models import Workspace
from kebab.people.reader import Reader
from kebab.people.workspace_settings.registry import preference
from search.access.scope import Scope
from search.analysis import STEMMED, Analysis
from search.answers.answerability import LOOKED_AT, Evidence, Weighed, coverage, refusal, weigh
from search.answers.request import AnswerRequest
from search.answers.types import AnswerHit, AnswerReason
from search.context.budget import counting
from search.context.request import BudgetUnit
from search.embedders.minilm.weights import MODEL
from search.engine.readback import read_passages
from search.engine.search import mirror_reading, scope_from, search_in
from search.mirror import schema
from search.mirror.errors import MirrorError
from search.rerank import configured_reranker
from search.retrieval.query.channels import QueryChannels
from search.retrieval.query.match import parse_query
from search.retrieval.types import Mode, SearchHit, SearchQuery, SearchResult

#: Tokens of passages where no model limits them.
EXTRACTIVE_TOKENS: Final = 8_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A hit with its text."""

    hit: AnswerHit
    text: str
    #: Index terms of its headings and its text.
    terms: frozenset[str]
    #: The cosine of question and passage; None where it isn't known.
    cosine: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a search for a question came to."""

    result: SearchResult
    #: All of them, numbered as far as there is room.
    hits: tuple[AnswerHit, ...]
    #: The numbered ones, in order.
    passages: tuple[Passage, ...]
    #: Content words of the question; None where there was no mirror to look them up in.
    words: tuple[Weighed, ...] | None
    analysis: Analysis
    refusal: AnswerReason | None


def find_passages(
    workspace: Workspace, reader: Reader, request: AnswerRequest, asked: str, *, tokens: int
) -> Found:
    """Search for `asked`, which the question is in its conversation, and give what was found.

    The passages have `tokens` tokens at most. Raises InvalidQuery and InvalidFilter, NotSearchableYet,
    Workspace.DoesNotExist.
    """
    scope = scope_from(workspace, request.filters, reader, request.min_seq)
    text = _plain(asked)
    query = SearchQuery(
        text=text,
        mode=request.mode,
        k=request.k,
        filters=request.filters,
        channels=QueryChannels(vector=text, lexical=text, rerank=text),
        cutoff=True,
        rerank=configured_reranker() is not None,
    )
    result = search_in(workspace, scope, query, with_snippets=False)
    texts = read_passages(scope, [hit.chunk_id for hit in result.hits])
    standing = [hit for hit in result.hits if hit.chunk_id in texts]
    words, analysis = _weighed(workspace, scope, text) if standing else (None, STEMMED)
    passages = _packed(standing, texts, analysis, tokens)
    numbers = {passage.hit.chunk_id: passage.hit.n for passage in passages}
    evidence = _evidence(standing, passages, words)
    return Found(
        result=result,
        hits=tuple(_hit(hit, numbers.get(hit.chunk_id)) for hit in standing),
        passages=passages,
        words=words,
        analysis=analysis,
        refusal=_refusal(workspace, evidence, request.mode),
    )


def _plain(asked: str) -> str:
    """Return a question that is searched for its words, also when it stands in quotes."""
    while parse_query(asked).raw is not None:
        asked = asked.strip().removeprefix("'").removesuffix("'")
    return asked


def _packed(
    hits: Sequence[SearchHit], texts: Mapping[str, tuple[str, str]], analysis: Analysis, tokens: int
) -> tuple[Passage, ...]:
    """Number the hits whose texts fit, in order; one that is too long is passed over for the next."""
    count, _ = counting(BudgetUnit.TOKENS)
    packed: list[Passage] = []
    for hit in hits:
        breadcrumb, text = texts[hit.chunk_id]
        size = count(f"{breadcrumb} {text}")
        if size > tokens:
            continue
        tokens -= size
        packed.append(
            Passage(
                hit=_hit(hit, len(packed) + 1),
                text=text,
                terms=terms_of(f"{breadcrumb}\n{text}", analysis),
                cosine=_cosine(hit),
            )
        )
    return tuple(packed)


def terms_of(text: str, analysis: Analysis) -> frozenset[str]:
    """Return the index terms of a text."""
    return frozenset(term for token in analysis.analyse(text) for term in token[2:])


def _weighed(workspace: Workspace, scope: Scope, text: str) -> tuple[tuple[Weighed, ...] | None, Analysis]:
    """Weigh the question's words by the chunks that its reader may read; None without a mirror."""
    reading = mirror_reading(workspace, scope)
    try:
        with reading.connection() as connection:
            collection = reading.collection(connection)
            analysis = schema.analysis_of(connection)

            def frequencies(terms: object) -> dict[str, int]:
                return collection.frequencies(connection, terms)  # type: ignore[arg-type]

            return weigh(text, analysis, frequencies, collection.chunks.chunk_count), analysis
    except (MirrorError, apsw.InterruptError):
        return None, STEMMED


def _evidence(
    hits: Sequence[SearchHit], passages: Sequence[Passage], words: Sequence[Weighed] | None
) -> Evidence | None:
    if not passages:
        return None
    cosines = [passage.cosine for passage in passages if passage.cosine is not None]
    covering = passages[:LOOKED_AT] if cosines else passages
    return Evidence(
        best_score=max(hit.retrieval.fusion_score for hit in hits),
        coverage=None if words is None else coverage(words, (each.terms for each in covering)),
        best_cosine=max(cosines, default=None),
    )


def _refusal(workspace: Workspace, evidence: Evidence | None, mode: Mode) -> AnswerReason | None:
    if evidence is None:
        return AnswerReason.NO_CHUNKS
    return refusal(evidence, _score_gate(workspace, mode))


def _score_gate(workspace: Workspace, mode: Mode) -> float:
    """Return the workspace's gate; where it has set none there is none for words alone.

    bm25 collapses on small or uniform collections: of two chunks the one that has all words scores 0.0001.
    """
    if mode is Mode.LEXICAL and "score_gate" not in workspace.settings:
        return 0.0
    return float(preference(workspace, "score_gate"))


def _cosine(hit: SearchHit) -> float | None:
    """Return the cosine behind a vector score, which is (1 + cos) / 2, of the model that it was measured
    with.

    Other models' cosines lie elsewhere: some give texts that have nothing to do with each other 0.7.
    """
    score = hit.retrieval.vector_score
    return None if score is None or hit.embedding_model != MODEL else 2 * score - 1


def _hit(hit: SearchHit, n: int | None) -> AnswerHit:
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
