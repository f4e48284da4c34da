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
class SourceChoice:
    """A source that a question can be narrowed to."""

    key: str
    label: str
    is_chosen: bool


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


@dataclass(frozen=True, slots=True, kw_only=True)
class AskForm:
    """The form's values with the sources to choose from."""

    values: QuestionInput
    choices: Sequence[SourceChoice]
    has_more_sources: bool

    @property
    def is_narrowed(self) -> bool:
        """Return whether some of the sources are chosen."""
        return any(choice.is_chosen for choice in self.choices)


def build_ask_form(access: Access, values: QuestionInput) -> AskForm:
    """Return the form with the sources that the caller may read."""
    rows = visible_sources(access.workspace, access.reader).order_by("key")
    names = list(rows.values_list("key", "title")[: MAX_SOURCES + 1])
    choices = [
        SourceChoice(key=key, label=title or key, is_chosen=key in values.sources)
        for key, title in names[:MAX_SOURCES]
    ]
    return AskForm(values=values, choices=choices, has_more_sources=len(names) > MAX_SOURCES)


def follow_up(conversation_id: uuid.UUID, sources: Sequence[str]) -> QuestionInput:
    """Return the values of an empty form that continues a conversation with the same sources."""
    return QuestionInput(conversation_id=str(conversation_id), sources=tuple(sources))
