"""`/workspaces/{ws}/ask` and `/workspaces/{ws}/answers`: questions and stored answers."""

import threading
import uuid
from typing import ClassVar

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.http.api.idempotency import REPLAYED, idempotent
from kebab.http.api.openapi_schema import page_of, wire_component
from kebab.http.api.pagination import KeysetPage
from kebab.http.api.serializers import strict_body
from kebab.http.api.sse import event_stream
from kebab.http.api.views import WorkspaceView
from kebab.identity.models import Role, TokenScope
from kebab.identity.permissions import Need
from kebab.wire import to_document
from search.answers import Answer, AnswerRequest, answer_events, answer_question
from search.answers.citation_check import AnswerCheck, check_citations
from search.answers.history import answer_from_row, delete_answer, get_answer, visible_answers
from search.api.answers.serializers import AnswersQuery, AnswerSummarySerializer, AskBody, answer_request
from search.api.answers.stream import answer_stream
from search.api.search import json_response

ASK = Need(role=Role.VIEWER, scope=TokenScope.ASK)
_EVENTS = "text/event-stream"


class AskView(WorkspaceView):
    """Answers to questions from the workspace's documents, with citations."""

    required: ClassVar = {"POST": ASK}

    #: The answer that this request generated; a replayed request reads the stored one.
    answer: Answer | None = None

    @extend_schema(request=AskBody, responses={200: wire_component("answer.v1")})
    def post(self, request: Request, ws: str) -> HttpResponseBase:
        """Answer a question. A question that the documents don't answer is refused without calling a model.

        With `Accept: text/event-stream` the answer is sent as events: `retrieval` with the hits, `token` with
        each piece of the text, and `final` with the document that is returned otherwise.
        """
        question = answer_request(self.workspace, strict_body(request, AskBody))
        if _EVENTS in request.headers.get("Accept", ""):
            return self._stream_answer(question)
        return self._answer_whole(request, question)

    post.takes_idempotency_key = True  # type: ignore[attr-defined]  # the schema documents the header

    def _stream_answer(self, question: AnswerRequest) -> HttpResponseBase:
        stop = threading.Event()
        events = answer_events(
            self.workspace, self.access.reader, question, asker=self.access.caller, stop=stop
        )
        first = next(events)  # raises for an invalid request before the response starts
        return event_stream(answer_stream(self.access, first, events, stop))

    def _answer_whole(self, request: Request, question: AnswerRequest) -> HttpResponse:
        done = self._answer_once(request, question)
        answer = self.answer or answer_from_row(get_answer(self.access, uuid.UUID(done.data["answer_id"])))
        response = json_response(to_document("answer.v1", answer))
        if REPLAYED in done.headers:
            response[REPLAYED] = done.headers[REPLAYED]
        return response

    # The response stored under a key holds only the answer's id: the text is stored once and deleted once.
    @idempotent(recheck=None)
    def _answer_once(self, request: Request, question: AnswerRequest) -> Response:
        self.answer = answer_question(self.workspace, self.access.reader, question, asker=self.access.caller)
        return Response({"answer_id": str(self.answer.answer_id)})


class AnswersView(WorkspaceView):
    """The stored answers."""

    required: ClassVar = {"GET": ASK}
    queries: ClassVar = {"GET": AnswersQuery}

    @extend_schema(responses=page_of(AnswerSummarySerializer))
    def get(self, request: Request, ws: str) -> Response:
        """List the answers, newest first: everybody's if you manage the workspace and read all of it, else
        your own.
        """
        page = KeysetPage.from_view(self, ordering=("-created_at", "id"))
        answers = visible_answers(self.access)
        if "conversation_id" in self.query:
            answers = answers.filter(conversation_id=self.query["conversation_id"])
        return page.response(answers, lambda row: AnswerSummarySerializer(row).data)


class OneAnswerView(WorkspaceView):
    """One answer."""

    required: ClassVar = {"GET": ASK, "DELETE": ASK}

    @extend_schema(responses={200: wire_component("answer.v1")})
    def get(self, request: Request, ws: str, answer_id: uuid.UUID) -> HttpResponse:
        """Return the stored answer."""
        return json_response(to_document("answer.v1", answer_from_row(get_answer(self.access, answer_id))))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, ws: str, answer_id: uuid.UUID) -> Response:
        """Delete the answer. Later answers of the conversation stay."""
        delete_answer(self.access, answer_id)
        return Response(status=204)


class AnswerCheckView(WorkspaceView):
    """The check of an answer's citations against the current documents."""

    required: ClassVar = {"GET": ASK}

    @extend_schema(responses={200: wire_component("answer_check.v1")})
    def get(self, request: Request, ws: str, answer_id: uuid.UUID) -> HttpResponse:
        """Check for each citation whether the current version has the cited text, and return its place."""
        answer = answer_from_row(get_answer(self.access, answer_id))
        checked = check_citations(self.workspace, self.access.reader, answer.citations)
        check = AnswerCheck(answer_id=answer.answer_id, citations=checked)
        return json_response(to_document("answer_check.v1", check))
