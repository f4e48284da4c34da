"""What the form for questions says, and what may be chosen in it."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.http import QueryDict

from kebab.http.api.serializers import validated
from kebab.people.access.caller import Access
from kebab.people.models import Workspace
from search.access.querysets import sources_of
from search.answers import AnswerRequest
from search.api.answers.serializers import AskBody, answer_request

#: The most sources to choose among.
MAX_SOURCES: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceChoice:
    """A source that a question can be narrowed to."""

    key: str
    label: str
    is_chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """The form as it was filled in, unchecked, so that a refused question can be shown and mended."""

    question: str = ""
    #: The conversation that it goes on with; '' begins one.
    conversation_id: str = ""
    #: Keys; none: all of them.
    sources: tuple[str, ...] = ()

    @classmethod
    def in_form(cls, given: QueryDict) -> "Asking":
        """Read what a form or an address says; what is missing has its default."""
        return cls(
            question=given.get("question", "").replace("\r\n", "\n"),
            conversation_id=given.get("conversation_id", ""),
            sources=tuple(given.getlist("source")),
        )

    @property
    def kept_address(self) -> str:
        """Return the query string by which the next question is asked of the same sources; '' for all."""
        kept = QueryDict(mutable=True)
        kept.setlist("source", list(self.sources))
        return f"?{kept.urlencode()}" if self.sources else ""

    def request(self, workspace: Workspace) -> AnswerRequest:
        """Return the question as the API would take it. Raises ValidationError, InvalidQuery,
        InvalidFilter.
        """
        body: dict[str, Any] = {"question": self.question}
        if self.conversation_id:
            body["conversation_id"] = self.conversation_id
        if self.sources:
            body["filters"] = {"source": list(self.sources)}
        return answer_request(workspace, validated(AskBody, body))


@dataclass(frozen=True, slots=True, kw_only=True)
class AskForm:
    """The form with what may be chosen in it."""

    asking: Asking
    choices: Sequence[SourceChoice]
    has_more_sources: bool

    @property
    def is_narrowed(self) -> bool:
        """Return whether some of the sources are chosen."""
        return any(choice.is_chosen for choice in self.choices)


def ask_form(access: Access, asking: Asking) -> AskForm:
    """Return the form for somebody: there are no sources but theirs to choose among."""
    rows = sources_of(access.workspace, access.reader).order_by("key")
    names = list(rows.values_list("key", "title")[: MAX_SOURCES + 1])
    choices = [
        SourceChoice(key=key, label=title or key, is_chosen=key in asking.sources)
        for key, title in names[:MAX_SOURCES]
    ]
    return AskForm(asking=asking, choices=choices, has_more_sources=len(names) > MAX_SOURCES)


def going_on(conversation_id: uuid.UUID, sources: Sequence[str]) -> Asking:
    """Return an empty form that goes on with a conversation, asking the same sources."""
    return Asking(conversation_id=str(conversation_id), sources=tuple(sources))
