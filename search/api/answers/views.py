"""`/workspaces/{ws}/ask` and `/workspaces/{ws}/answers`: questions, and the answers that are kept."""

import threading
import uuid
from typing import Any, ClassVar

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.http.api.idempotency import REPLAYED, idempotent
from kebab.http.api.openapi_schema import page_of
from kebab.http.api.pagination import KeysetPage
from kebab.http.api.permissions import Need
from kebab.http.api.serializers import strict_body
from kebab.http.api.sse import event_stream
from kebab.http.api.views import WorkspaceView
from kebab.people.models import Role, Scope
from search.answers import Answer, AnswerRequest, answer_events, answer_question
from search.answers.citation_check import check_citations
from search.answers.history import answer_of, delete_answer, one_answer, visible_answers
from search.answers.wire import answer_to_wire, check_to_wire
from search.api.answers.serializers import AnswersQuery, AnswerSummarySerializer, AskBody, answer_request
from search.api.answers.stream import answer_stream
from search.api.search import json_response
from search.wire_schemas import inlined_schema

ASK = Need(role=Role.VIEWER, scope=Scope.ASK)
_EVENTS = "text/event-stream"


class AskView(WorkspaceView):
    """Answers to questions, from what the workspace's documents say, with citations."""

    required: ClassVar = {"POST": ASK}

    #: What this very request was answered; a repeated one reads what is kept.
    answer: Answer | None = None

    @extend_schema(
        request=AskBody,
        responses={
            (200, "application/json"): inlined_schema("answer.v1"),
            (200, _EVENTS): OpenApiTypes.STR,
        },
    )
    def post(self, request: Request, ws: str) -> HttpResponseBase:
        """Answer a question. What the documents don't hold is refused, without asking a model.

        With `Accept: text/event-stream` it comes as events: `retrieval` with the hits, `token` with each
        piece of the text, and `final` with what is answered otherwise.
        """
        asked = answer_request(self.workspace, strict_body(request, AskBody))
        if _EVENTS in request.headers.get("Accept", ""):
            return self._streamed(asked)
        return self._answered(request, asked)

    post.takes_idempotency_key = True  # type: ignore[attr-defined]  # the schema documents the header

    def _streamed(self, asked: AnswerRequest) -> HttpResponseBase:
        stop = threading.Event()
        events = answer_events(self.workspace, self.access.reader, asked, asker=self.access.caller, stop=stop)
        first = next(events)  # what can't be asked is refused before anything is streamed
        return event_stream(answer_stream(self.access, first, events, stop))

    def _answered(self, request: Request, asked: AnswerRequest) -> HttpResponse:
        done = self._once(request, asked)
        answer = self.answer or answer_of(one_answer(self.access, uuid.UUID(done.data["answer_id"])))
        response = json_response(answer_to_wire(answer))
        if REPLAYED in done.headers:
            response[REPLAYED] = done.headers[REPLAYED]
        return response

    # What is stored under a key names the answer alone: its text stands in one place, and goes with it.
    @idempotent(recheck=None)
    def _once(self, request: Request, asked: AnswerRequest) -> Any:
        self.answer = answer_question(self.workspace, self.access.reader, asked, asker=self.access.caller)
        return Response({"answer_id": str(self.answer.answer_id)})


class AnswersView(WorkspaceView):
    """The answers that are kept."""

    required: ClassVar = {"GET": ASK}
    queries: ClassVar = {"GET": AnswersQuery}

    @extend_schema(responses=page_of(AnswerSummarySerializer))
    def get(self, request: Request, ws: str) -> Response:
        """List the answers, newest first: everybody's to who manages and reads all of it, else your own."""
        page = KeysetPage.requested(self, ordering=("-created_at", "id"))
        answers = visible_answers(self.access)
        if "conversation_id" in self.query:
            answers = answers.filter(conversation_id=self.query["conversation_id"])
        return page.response(answers, lambda row: AnswerSummarySerializer(row).data)


class OneAnswerView(WorkspaceView):
    """One answer."""

    required: ClassVar = {"GET": ASK, "DELETE": ASK}

    @extend_schema(responses={200: inlined_schema("answer.v1")})
    def get(self, request: Request, ws: str, answer_id: uuid.UUID) -> HttpResponse:
        """Return the answer as it was given."""
        return json_response(answer_to_wire(answer_of(one_answer(self.access, answer_id))))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, ws: str, answer_id: uuid.UUID) -> Response:
        """Delete the answer. What was answered after it in the conversation stays."""
        delete_answer(self.access, answer_id)
        return Response(status=204)


class AnswerCheckView(WorkspaceView):
    """Whether an answer still holds."""

    required: ClassVar = {"GET": ASK}

    @extend_schema(responses={200: inlined_schema("answer_check.v1")})
    def get(self, request: Request, ws: str, answer_id: uuid.UUID) -> HttpResponse:
        """Say for each citation whether the cited text still stands in the current version, and where."""
        answer = answer_of(one_answer(self.access, answer_id))
        checked = check_citations(self.workspace, self.access.reader, answer.citations)
        return json_response(check_to_wire(answer.answer_id, checked))
