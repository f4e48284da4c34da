"""Answers, their states and reasons, and the events of answering."""

import uuid
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from search.retrieval.citation import Citation
from search.retrieval.query.filters import TrustLevel
from search.retrieval.types import Mode
from search.retrieval.wire_types import Count, Degraded, HexId, NonEmpty, NonNegative, Rank, Score


class AnswerState(StrEnum):
    """Final state of an answer."""

    #: A model's text with at least one marker, all of them of passages in its prompt.
    GROUNDED = "grounded"
    #: A model's text that can't be checked against the passages in its prompt.
    UNGROUNDED = "ungrounded"
    #: The best sentences of the passages themselves, because no model is configured.
    EXTRACTIVE = "extractive"
    #: The workspace holds no answer; a model was asked only about passages that cover too little.
    REFUSED = "refused"
    #: The model gave no complete answer.
    FAILED = "failed"


class AnswerReason(StrEnum):
    """Reason of a refused, ungrounded or failed answer."""

    #: Refused: the search had no hits.
    NO_CHUNKS = "no_chunks"
    #: Refused: the best score is below the workspace's `score_gate`.
    SCORE_GATE = "score_gate"
    #: Refused: the passages cover too little of the question, and the model, if any, cites none of them.
    NOT_COVERED = "not_covered"
    #: Ungrounded: no text, no marker, or a marker of a passage that wasn't in the prompt.
    EMPTY = "empty"
    NO_MARKER = "no_marker"
    UNKNOWN_MARKER = "unknown_marker"
    #: Failed: timed out; broken off; rate limited; refused by the endpoint; unreachable or circuit open.
    MODEL_TIMEOUT = "model_timeout"
    MODEL_DIED = "model_died"
    RATE_LIMITED = "rate_limited"
    MODEL_REFUSED = "model_refused"
    MODEL_UNAVAILABLE = "model_unavailable"
    #: Failed: the caller left before the end.
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerHit:
    """A chunk that was found for the question."""

    #: In the order of the search.
    rank: Rank
    score: Score
    #: The number of its marker; None when it didn't fit into the prompt.
    n: int | None
    chunk_id: HexId
    doc_id: HexId
    title: str
    heading_path: tuple[str, ...]
    source: str
    version: str | None
    trust_level: TrustLevel
    citation: Citation


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCitation:
    """The cited passage of a marker `[#n]` in the answer's text."""

    n: Rank
    chunk_id: HexId
    doc_id: HexId
    title: str
    heading_path: tuple[str, ...]
    source: str
    version: str | None
    trust_level: TrustLevel
    citation: Citation
    #: The cited text at the time of the answer: plain text, never markup.
    quote: str
    #: That of the citation: `guides/install.md#L7-L12`.
    uri: str = field(init=False, default="", repr=False, compare=False)

    def __post_init__(self) -> None:
        # A frozen dataclass allows no ordinary assignment, not even here.
        object.__setattr__(self, "uri", self.citation.uri)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens as counted by the model's endpoint; None when it doesn't report them."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer in any state; `degraded` and `warnings` name missing parts."""

    answer_id: uuid.UUID
    #: Given with the next question, that goes on with this one.
    conversation_id: uuid.UUID
    #: The caller's name in the audit log.
    asked_by: str
    question: NonEmpty
    #: Plain text with markers `[#n]`, each of which leads to the citation with that n; '' when refused, or
    #: when the model wrote nothing.
    text: str
    #: grounded: a model's text with at least one marker and none of a passage that it was not given;
    #: extractive: the documents' own sentences, because no model is configured; refused: the documents don't
    #: hold it; failed: the model gave no whole answer.
    state: AnswerState
    #: Why it is refused, ungrounded or failed; else None.
    reason: AnswerReason | None
    #: In order of first occurrence in the text.
    citations: tuple[AnswerCitation, ...]
    #: The chunks that were found for the question, best first.
    hits: tuple[AnswerHit, ...]
    #: The model's name; None when no model was asked.
    model: str | None
    usage: Usage | None
    mode: Mode
    index_version: str
    #: Sequence number of the last change in the index that was searched.
    seq: Count
    #: Number of changes that it lacked.
    lag: Count
    took_ms: NonNegative
    created_at: datetime
    #: Legs that took no part or were stopped.
    degraded: Degraded = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """First event: the hits, best first."""

    conversation_id: uuid.UUID
    hits: tuple[AnswerHit, ...]
    #: The documents that the answer is made from: those of the hits and of earlier turns.
    doc_ids: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextAdded:
    """A piece of the answer's text, as it comes."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """Last event: the complete answer, as stored."""

    answer: Answer


AnswerEvent = Retrieved | TextAdded | Finished
