"""The question form, its values and its choices of sources."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.http import QueryDict

from kebab.http.api.serializers import validate_fields
from kebab.identity.caller import Access
from kebab.identity.models import Workspace
from search.access.restrictions import visible_sources
from search.answers import AnswerRequest
from search.api.answers.views import AskBody, answer_request

#: The most sources to choose among.
MAX_SOURCES: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionInput:
    """The form's values as typed, unchecked, so that a refused question can be shown and corrected."""

    question: str = ""
    #: The conversation that the question continues; '' starts a new one.
    conversation_id: str = ""
    #: Keys of the chosen sources; empty means all.
    sources: tuple[str, ...] = ()

    @classmethod
    def from_form(cls, given: QueryDict) -> "QuestionInput":
        """Parse a form or a query string; missing fields have their defaults."""
        return cls(
            question=given.get("question", "").replace("\r\n", "\n"),
            conversation_id=given.get("conversation_id", ""),
            sources=tuple(given.getlist("source")),
        )

    @property
    def sources_query(self) -> str:
        """Return the query string that preselects the same sources for the next question; '' for all."""
        query = QueryDict(mutable=True)
        query.setlist("source", list(self.sources))
        return f"?{query.urlencode()}" if self.sources else ""

    def build_request(self, workspace: Workspace) -> AnswerRequest:
        """Build the request, validated as by the API. Raises ValidationError, InvalidQuery, InvalidFilter."""
        body: dict[str, Any] = {"question": self.question}
        if self.conversation_id:
            body["conversation_id"] = self.conversation_id
        if self.sources:
            body["filters"] = {"source": list(self.sources)}
        return answer_request(workspace, validate_fields(AskBody, body))


def build_ask_form(access: Access, values: QuestionInput) -> dict[str, Any]:
    """Return the form's values with the sources that the caller may read, to choose from."""
    rows = visible_sources(access.workspace, access.reader).order_by("key")
    names = list(rows.values_list("key", "title")[: MAX_SOURCES + 1])
    choices = [
        {"key": key, "label": title or key, "is_chosen": key in values.sources}
        for key, title in names[:MAX_SOURCES]
    ]
    return {
        "values": values,
        "choices": choices,
        "has_more_sources": len(names) > MAX_SOURCES,
        "is_narrowed": any(choice["is_chosen"] for choice in choices),
    }


def follow_up(conversation_id: uuid.UUID, sources: Sequence[str]) -> QuestionInput:
    """Return the values of an empty form that continues a conversation with the same sources."""
    return QuestionInput(conversation_id=str(conversation_id), sources=tuple(sources))
