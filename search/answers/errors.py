"""Errors of answer generation; the asker sees them only as the answer's state."""

from typing import ClassVar

from search.answers.types import AnswerReason
from search.retrieval.errors import SearchError


class ModelFailed(SearchError):
    """The model gave no complete answer.

    The message names no question, address or key; `remedy` is for the log. Without `is_fault` the model is
    healthy: it refused the request, or the caller has stopped waiting.
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
