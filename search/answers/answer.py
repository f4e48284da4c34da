"""The pipeline from a question to an answer with citations: `answer_question(workspace, reader, request)`."""

import threading
import time
import uuid
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Final

from django.utils import timezone

from kebab.identity.caller import Caller
from kebab.identity.models import Workspace
from kebab.identity.reader import Reader
from kebab.tenancy.current_workspace import acting_in_step
from search.answers.conversation import Conversation, find_conversation, find_in_conversation, store_answer
from search.answers.generation import GenerationOutcome, generate_answer, passage_tokens, quote_best
from search.answers.model.configured import ChatModel, chat_model
from search.answers.passages import EXTRACTIVE_TOKENS, RetrievalOutcome
from search.answers.request import AnswerRequest
from search.answers.types import Answer, AnswerCitation, AnswerEvent, Finished, Retrieved
from search.engine.search import milliseconds_since
from search.metrics import count_answer

_OUTDATED: Final = "No current page answers; an outdated one may be quoted."
_NOT_STORED: Final = (
    "It isn't kept: a document that it was made from was deleted meanwhile, or nothing can be written."
)


def answer_question(
    workspace: Workspace,
    reader: Reader,
    request: AnswerRequest,
    *,
    asker: Caller,
    stop: threading.Event | None = None,
) -> Answer:
    """Answer a question from the documents of `workspace` that `reader` may read, and store it as `asker`'s.

    Raises the errors of `answer_events`.
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
) -> Generator[AnswerEvent]:
    """Return the events of answering: `Retrieved`, any number of `TextAdded`, `Finished`.

    Closing the iterator ends the model call, and no answer is stored. Setting `stop` from another thread ends
    it within half a second; the stored answer has then failed with the reason `stopped`. Each step sets the
    current workspace itself, so that it may run in any thread, and no database connection is held while the
    model writes.

    Raises: InvalidQuery and InvalidFilter for malformed requests, NotFound for a conversation that isn't the
    asker's, NotSearchableYet, Workspace.DoesNotExist.
    """
    started, model = time.perf_counter(), chat_model()
    with acting_in_step(workspace.pk):
        context = _gather_context(workspace, reader, request, asker, model)
    yield Retrieved(conversation_id=context.conversation.id, hits=context.found.hits, doc_ids=context.doc_ids)
    outcome = yield from generate_answer(
        request.question,
        context.found,
        context.conversation,
        model=model,
        stop=stop or threading.Event(),
    )
    answer = _build_answer(request, asker, context, outcome, took_ms=milliseconds_since(started))
    count_answer(answer.state, answer.reason, answer.took_ms)
    with acting_in_step(workspace.pk):
        is_stored = store_answer(workspace, asker, answer, context.doc_ids)
    yield Finished(answer=answer if is_stored else replace(answer, warnings=(*answer.warnings, _NOT_STORED)))


def quote_answer(
    workspace: Workspace, reader: Reader, request: AnswerRequest
) -> tuple[str, AnswerCitation] | None:
    """Return the quote that answers a question best, with its citation; nothing is stored, no model asked.

    Raises: InvalidQuery and InvalidFilter for malformed requests, NotSearchableYet.
    """
    alone = Conversation(id=uuid.uuid4())
    return quote_best(find_in_conversation(workspace, reader, request, alone, tokens=EXTRACTIVE_TOKENS))


@dataclass(frozen=True, slots=True, kw_only=True)
class _AnswerContext:
    """The conversation and the retrieved passages that an answer is made from."""

    conversation: Conversation
    found: RetrievalOutcome
    #: The documents that the answer is made from.
    doc_ids: frozenset[str]


def _gather_context(
    workspace: Workspace, reader: Reader, request: AnswerRequest, asker: Caller, model: ChatModel | None
) -> _AnswerContext:
    conversation = find_conversation(workspace, reader, asker, request.conversation_id)
    tokens = passage_tokens(model, request.question, conversation, request.k)
    found = find_in_conversation(workspace, reader, request, conversation, tokens=tokens)
    earlier = frozenset[str]() if model is None else conversation.doc_ids
    return _AnswerContext(
        conversation=conversation, found=found, doc_ids=earlier.union(hit.doc_id for hit in found.hits)
    )


def _build_answer(
    request: AnswerRequest,
    asker: Caller,
    context: _AnswerContext,
    outcome: GenerationOutcome,
    *,
    took_ms: float,
) -> Answer:
    result = context.found.result
    return Answer(
        answer_id=uuid.uuid4(),
        conversation_id=context.conversation.id,
        asked_by=asker.actor,
        question=request.question,
        text=outcome.text,
        state=outcome.state,
        reason=outcome.reason,
        citations=outcome.citations,
        hits=context.found.hits,
        model=outcome.model,
        usage=outcome.usage,
        mode=result.mode,
        index_version=result.index_version,
        seq=result.seq,
        lag=result.lag,
        took_ms=took_ms,
        created_at=timezone.now(),
        degraded=result.degraded,
        warnings=(*result.warnings, *((_OUTDATED,) if context.found.is_outdated else ()), *outcome.warnings),
    )
