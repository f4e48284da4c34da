"""An answer as a stream of events; the stream ends when the caller loses access to the answer's documents."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Collection, Iterator
from typing import Any

from asgiref.sync import sync_to_async

from kebab.http.api.outages import OUTAGES, outage_of
from kebab.identity.caller import Access, refresh_access
from kebab.identity.models import TokenScope
from kebab.tenancy.current_workspace import acting_in_step
from kebab.wire import to_document, to_wire
from search.access.querysets import visible_documents
from search.answers import AnswerEvent, Finished, Retrieved, TextAdded

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
