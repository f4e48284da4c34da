"""The parameters of an answer."""

import uuid
from dataclasses import dataclass, field
from typing import Final

from search.retrieval.errors import InvalidQuery
from search.retrieval.fusion.post_fusion import MAX_K
from search.retrieval.query.filters import SearchFilters
from search.retrieval.text.sanitize import strip_unstorable
from search.retrieval.types import Mode

MAX_QUESTION_CHARS: Final = 8_000
#: Most hits that the cutoff leaves.
MAX_HITS: Final = MAX_K
DEFAULT_HITS: Final = MAX_HITS


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRequest:
    """A question and the filters and mode of its search. Raises: InvalidQuery, naming the parameter."""

    #: NULs, lone surrogates and surrounding white space are removed.
    question: str
    filters: SearchFilters = field(default_factory=SearchFilters)
    #: The conversation to continue; None starts a new one.
    conversation_id: uuid.UUID | None = None
    #: The most hits that an answer is made of, 1 to 8.
    k: int = DEFAULT_HITS
    mode: Mode = Mode.HYBRID
    #: Wait, within a limit, until this change is searchable; None: answer from the current index.
    min_seq: int | None = None
    #: The share of a hit's score that its age takes, 0 to 1; None: the workspace's setting.
    recency: float | None = None

    def __post_init__(self) -> None:
        # The only way to set a field of a frozen dataclass during initialisation.
        object.__setattr__(self, "question", strip_unstorable(self.question).strip())
        object.__setattr__(self, "mode", Mode(self.mode))
        if not self.question or len(self.question) > MAX_QUESTION_CHARS:
            raise InvalidQuery(
                f"The question is empty or has more than {MAX_QUESTION_CHARS:,} characters; ask it in a few"
                " sentences."
            )
        if self.recency is not None and not 0 <= self.recency <= 1:
            raise InvalidQuery(f"recency is {self.recency}; give a number from 0 to 1.")
        if not 1 <= self.k <= MAX_HITS:
            raise InvalidQuery(f"k is {self.k}; ask for an answer from 1 to {MAX_HITS} hits.")
