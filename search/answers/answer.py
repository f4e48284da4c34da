"""`answer_question(workspace, reader, request)`: from a question to an answer that can be checked."""

import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from django.utils import timezone

from kebab.people.access.caller import Caller
from kebab.people.models import Workspace
from kebab.people.reader import Reader
from kebab.tenancy.current_workspace import acting_for_a_step_in
from search.answers.conversation import Conversation, find_conversation
from search.answers.generation import Outcome, passage_tokens, write
from search.answers.history import keep_answer
from search.answers.model.configured import ChatModel, configured_model
from search.answers.passages import Found, find_passages
from search.answers.request import AnswerRequest
from search.answers.types import Answer, AnswerEvent, Finished, Retrieved
from search.engine.search import milliseconds_since
from search.metrics import count_answer

_NOT_KEPT: Final = "A document that it was made from has been deleted meanwhile, so that it isn't kept."


def answer_question(
    workspace: Workspace,
    reader: Reader,
    request: AnswerRequest,
    *,
    asker: Caller,
    stop: threading.Event | None = None,
) -> Answer:
    """Return the answer from what `reader` may read of `workspace`; it is kept as `asker`'s.

    Raises what `answer_events` does.
    """
    for event in answer_events(workspace, reader, request, asker=asker, stop=stop):
        if isinstance(event, Finished):
            return event.answer
    raise AssertionError("the events of an answer end with the answer")


def answer_events(
    workspace: Workspace,
    reader: Reader,
    request: AnswerRequest,
    *,
    asker: Caller,
    stop: threading.Event | None = None,
) -> Iterator[AnswerEvent]:
    """Return what happens until there is an answer: `Retrieved`, `TextAdded` as often as it is, `Finished`.

    Closing the iterator ends the model's call, and nothing is kept; setting `stop`, from another thread, ends
    it within half a second, and then the answer that is kept has failed as `stopped`. Each step acts in the
    workspace by itself, so that it may be taken in any thread, and none holds a connection to the database
    while the model writes. Raises InvalidQuery and InvalidFilter for what can't be understood, NotFound for a
    conversation that isn't the asker's, NotSearchableYet, Workspace.DoesNotExist.
    """
    started, model = time.perf_counter(), configured_model()
    with acting_for_a_step_in(workspace.pk):
        sought = _seek(workspace, reader, request, asker, model)
    yield Retrieved(conversation_id=sought.conversation.id, hits=sought.found.hits, doc_ids=sought.doc_ids)
    outcome = yield from write(
        request.question,
        sought.found,
        sought.conversation,
        model=model,
        stop=stop or threading.Event(),
    )
    answer = _answer(request, asker, sought, outcome, took_ms=milliseconds_since(started))
    count_answer(answer.state, answer.reason, answer.took_ms)
    with acting_for_a_step_in(workspace.pk):
        is_kept = keep_answer(workspace, asker, answer, sought.doc_ids)
    yield Finished(answer=answer if is_kept else replace(answer, warnings=(*answer.warnings, _NOT_KEPT)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sought:
    """What there is to answer from."""

    conversation: Conversation
    found: Found
    #: The documents that the answer is made from.
    doc_ids: frozenset[str]


def _seek(
    workspace: Workspace, reader: Reader, request: AnswerRequest, asker: Caller, model: ChatModel | None
) -> _Sought:
    conversation = find_conversation(workspace, reader, asker, request.conversation_id)
    tokens = passage_tokens(model, request.question, conversation, request.k)
    found = find_passages(workspace, reader, request, conversation.asked(request.question), tokens=tokens)
    told = frozenset[str]() if model is None else conversation.doc_ids
    return _Sought(
        conversation=conversation, found=found, doc_ids=told.union(hit.doc_id for hit in found.hits)
    )


def _answer(
    request: AnswerRequest, asker: Caller, sought: _Sought, outcome: Outcome, *, took_ms: float
) -> Answer:
    result = sought.found.result
    return Answer(
        answer_id=uuid.uuid4(),
        conversation_id=sought.conversation.id,
        asked_by=asker.actor,
        question=request.question,
        text=outcome.text,
        state=outcome.state,
        reason=outcome.reason,
        citations=outcome.citations,
        hits=sought.found.hits,
        model=outcome.model,
        usage=outcome.usage,
        mode=result.mode,
        index_version=result.index_version,
        seq=result.seq,
        lag=result.lag,
        took_ms=took_ms,
        created_at=timezone.now(),
        degraded=result.degraded,
        warnings=(*result.warnings, *outcome.warnings),
    )
