"""What can go wrong while an answer is made; none of it reaches who asked but as the answer's state."""

from typing import ClassVar

from search.answers.types import AnswerReason
from search.retrieval.errors import SearchError


class ModelFailed(SearchError):
    """The model gave no whole answer; the message names no question, address or key; `remedy` is for the log.

    Without `is_fault` the model is well: it refused what it was asked, or nobody waits for it any more.
    """

    code: ClassVar[str] = "model_failed"
    status: ClassVar[int] = 503

    def __init__(
        self, reason: AnswerReason, message: str, *, remedy: str = "", is_fault: bool = True
    ) -> None:
        """`message` completes a sentence whose subject is the model."""
        super().__init__(f"the model {message}")
        self.reason = reason
        self.remedy = remedy
        self.is_fault = is_fault
