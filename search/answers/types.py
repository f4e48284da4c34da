"""What an answer is, and what happens until there is one."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from search.retrieval.citation import Citation
from search.retrieval.query.filters import TrustLevel
from search.retrieval.types import Mode


class AnswerState(StrEnum):
    """How an answer ended."""

    #: A model's text with at least one marker, and none of a passage that it was not given.
    GROUNDED = "grounded"
    #: A model's text that can't be held against the passages it was given.
    UNGROUNDED = "ungrounded"
    #: The best sentences of the passages themselves, because no model is configured.
    EXTRACTIVE = "extractive"
    #: The workspace doesn't hold an answer; no model was asked.
    REFUSED = "refused"
    #: The model gave no whole answer.
    FAILED = "failed"


class AnswerReason(StrEnum):
    """Why an answer is refused, ungrounded or failed."""

    #: Refused: nothing was found.
    NO_CHUNKS = "no_chunks"
    #: Refused: the best score is below the workspace's `score_gate`.
    SCORE_GATE = "score_gate"
    #: Refused: what was found doesn't hold enough of what the question is about.
    NOT_COVERED = "not_covered"
    #: Ungrounded: no text, no marker, or a marker of a passage that the model was not given.
    EMPTY = "empty"
    NO_MARKER = "no_marker"
    UNKNOWN_MARKER = "unknown_marker"
    #: Failed: no whole answer in time; broken off; asked too often; refused; out of reach or left alone.
    MODEL_TIMEOUT = "model_timeout"
    MODEL_DIED = "model_died"
    RATE_LIMITED = "rate_limited"
    MODEL_REFUSED = "model_refused"
    MODEL_UNAVAILABLE = "model_unavailable"
    #: Failed: whoever asked left before the end.
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerHit:
    """A chunk that was found for the question."""

    #: From 1, in the order of the search.
    rank: int
    #: In [0, 1].
    score: float
    #: The number of its marker, None where there was no room for it among the passages.
    n: int | None
    chunk_id: str
    doc_id: str
    title: str
    heading_path: tuple[str, ...]
    source: str
    version: str | None
    trust_level: TrustLevel
    citation: Citation


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCitation:
    """What a marker `[#n]` in the answer's text leads to."""

    n: int
    chunk_id: str
    doc_id: str
    title: str
    heading_path: tuple[str, ...]
    source: str
    version: str | None
    trust_level: TrustLevel
    citation: Citation
    #: The cited text as it stood when the answer was given.
    quote: str

    @property
    def uri(self) -> str:
        """Return where the cited text lies: `guides/install.md#L7-L12`."""
        return self.citation.uri


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens as the model's endpoint counted them; None where it doesn't say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer, whatever it came to; what was missing is named in `degraded` and `warnings`."""

    answer_id: uuid.UUID
    conversation_id: uuid.UUID
    #: As the audit names the caller.
    asked_by: str
    question: str
    #: With markers `[#n]`; '' where it was refused, or a model said nothing.
    text: str
    state: AnswerState
    #: None where it is grounded or extractive.
    reason: AnswerReason | None
    #: In the order in which the text names them first.
    citations: tuple[AnswerCitation, ...]
    hits: tuple[AnswerHit, ...]
    #: The model's name; None where none was asked.
    model: str | None
    usage: Usage | None
    mode: Mode
    index_version: str
    #: The change up to which the index that answered had come, and how many it was behind.
    seq: int
    lag: int
    took_ms: float
    created_at: datetime
    degraded: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """First event: what was found, best first."""

    conversation_id: uuid.UUID
    hits: tuple[AnswerHit, ...]
    #: What the answer is made from: the hits' documents, and those behind what was said before.
    doc_ids: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextAdded:
    """A piece of the answer's text, as it comes."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """Last event: the answer, as it is kept."""

    answer: Answer


AnswerEvent = Retrieved | TextAdded | Finished
