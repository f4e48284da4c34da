"""`/workspaces/{ws}/ask` and `/workspaces/{ws}/answers`: questions and stored answers."""

import asyncio
import logging
import threading
import uuid
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from typing import Any, ClassVar

from asgiref.sync import sync_to_async
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.http.api.idempotency import REPLAYED, idempotent
from kebab.http.api.openapi_schema import page_of, wire_component
from kebab.http.api.outages import OUTAGES, outage_of
from kebab.http.api.serializers import StrictSerializer, TypedTextField, strict_body
from kebab.http.api.sse import event_stream
from kebab.http.api.views import KeysetPage, PageQuery, WorkspaceView
from kebab.identity.caller import Access, Need, refresh_access
from kebab.identity.models import Role, TokenScope, Workspace
from kebab.tenancy.current_workspace import acting_in_step
from kebab.wire import to_document, to_wire
from search.access.restrictions import visible_documents
from search.answers import (
    DEFAULT_HITS,
    MAX_HITS,
    MAX_QUESTION_CHARS,
    Answer,
    AnswerEvent,
    AnswerRequest,
    Finished,
    Retrieved,
    TextAdded,
    answer_events,
    answer_question,
)
from search.answers.citation_check import AnswerCheck, check_citations
from search.answers.conversation import answer_from_row, delete_answer, get_answer, visible_answers
from search.api.query import awaited_seq, make_query
from search.api.query_fields import AwaitedSeqField, EnumeratedField, FilterFields, RecencyField, drop_nulls
from search.api.search import json_response
from search.models import KeptAnswer
from search.retrieval.types import Mode


class AskBody(StrictSerializer):
    """A question."""

    question = TypedTextField(max_length=MAX_QUESTION_CHARS, help_text="In plain words.")
    conversation_id = serializers.UUIDField(
        required=False, allow_null=True, help_text="An earlier answer's: the question goes on with it."
    )
    filters = FilterFields(required=False, allow_null=True)
    mode = EnumeratedField(Mode, required=False, allow_null=True)
    k = serializers.IntegerField(
        required=False, min_value=1, max_value=MAX_HITS, help_text="The most hits to answer from."
    )
    recency = RecencyField(required=False, allow_null=True)
    min_seq = AwaitedSeqField(required=False, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return the fields that are not null."""
        return drop_nulls(attrs)


class AnswersQuery(PageQuery):
    """The parameters of the list of answers."""

    conversation_id = serializers.UUIDField(required=False, help_text="Of this conversation alone.")


class AnswerSummarySerializer(serializers.ModelSerializer[KeptAnswer]):
    """An answer in a list."""

    answer_id = serializers.UUIDField(source="id")
    reason = serializers.SerializerMethodField(help_text="Null where it is grounded or extractive.")

    class Meta:
        model = KeptAnswer
        fields = (
            "answer_id",
            "conversation_id",
            "question",
            "state",
            "reason",
            "model",
            "asked_by",
            "created_at",
        )

    def get_reason(self, row: KeptAnswer) -> str | None:
        """Return the reason of a refused, ungrounded or failed answer."""
        return row.reason or None


def answer_request(workspace: Workspace, given: Mapping[str, Any]) -> AnswerRequest:
    """Build the request from a body's clean fields. Raises InvalidQuery, InvalidFilter with the field."""
    options = {name: given[name] for name in ("mode", "recency") if name in given}
    filters = given.get("filters", {})
    query = make_query(workspace, {"q": given["question"], "filters": filters, **options}, filters)
    return AnswerRequest(
        question=given["question"],
        filters=query.filters,
        conversation_id=given.get("conversation_id"),
        k=given.get("k", DEFAULT_HITS),
        mode=query.mode,
        recency=query.recency,
        min_seq=awaited_seq(workspace, given),
    )


logger = logging.getLogger(__name__)

# The caller's rights are checked again after this long.
_RECHECK_S = 0.5

Event = tuple[str, dict[str, Any]]


async def answer_stream(
    access: Access, first: AnswerEvent, rest: Iterator[AnswerEvent], stop: threading.Event
) -> AsyncIterator[Event]:
    """Yield a `retrieval` event, a `token` event for each piece of text, and the answer as the `final` event.

    The stream ends without the `final` event when the caller loses the right to see the answer, or when the
    database fails. When the client disconnects, the model is stopped and the partial answer is stored.
    """
    doc_ids = first.doc_ids if isinstance(first, Retrieved) else frozenset()
    loop = asyncio.get_running_loop()
    checked_at = loop.time()
    try:
        yield _event_to_wire(first)
        while (event := await _next_event(rest, stop)) is not None:
            if loop.time() - checked_at > _RECHECK_S or isinstance(event, Finished):
                checked_at = loop.time()
                if not await sync_to_async(_may_continue)(access, doc_ids):
                    return
            yield _event_to_wire(event)
    except OUTAGES as error:
        if outage_of(error) is None:
            raise
        logger.warning("the events of an answer break off: %s", error)
    finally:
        stop.set()
        await sync_to_async(_drain)(rest)


async def _next_event(events: Iterator[AnswerEvent], stop: threading.Event) -> AnswerEvent | None:
    """Wait for the next event in a thread; on cancellation stop the model and let the thread end first."""
    step = asyncio.ensure_future(sync_to_async(lambda: next(events, None))())
    try:
        return await asyncio.shield(step)
    except asyncio.CancelledError:
        stop.set()
        await step
        raise


def _drain(events: Iterator[AnswerEvent]) -> None:
    for _ in events:
        pass


def _may_continue(access: Access, doc_ids: Collection[str]) -> bool:
    with acting_in_step(access.workspace.pk):
        current = refresh_access(access)
        if current is None or TokenScope.ASK not in current.scopes:
            return False
        readable = visible_documents(current.workspace, current.reader).filter(doc_id__in=doc_ids)
        return readable.count() == len(doc_ids)


def _event_to_wire(event: AnswerEvent) -> Event:
    if isinstance(event, Retrieved):
        return "retrieval", to_wire(event, exclude={"doc_ids"})
    if isinstance(event, TextAdded):
        return "token", to_wire(event)
    return "final", to_document("answer.v1", event.answer)


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
