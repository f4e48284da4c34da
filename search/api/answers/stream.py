"""An answer as a stream of events, for as long as its reader may see what it is made from."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Collection, Iterator
from typing import Any

from asgiref.sync import sync_to_async

from kebab.http.api.outages import OUTAGES, outage_of
from kebab.people.access.caller import Access, access_now
from kebab.people.models import Scope
from kebab.tenancy.current_workspace import acting_for_a_step_in
from search.access.querysets import documents_of
from search.answers import AnswerEvent, Finished, Retrieved, TextAdded
from search.answers.wire import answer_hit_to_wire, answer_to_wire

logger = logging.getLogger(__name__)

# A right that ends is noticed so soon.
_LOOK_S = 0.5

Event = tuple[str, dict[str, Any]]


async def answer_stream(
    access: Access, first: AnswerEvent, rest: Iterator[AnswerEvent], stop: threading.Event
) -> AsyncIterator[Event]:
    """Return a `retrieval` event, a `token` for each piece of text, and the answer as the `final` one.

    Ends without that when the caller's right to see it does, or the database. When the client leaves, the
    model is stopped, and the answer is kept as far as it came.
    """
    doc_ids = first.doc_ids if isinstance(first, Retrieved) else frozenset()
    loop = asyncio.get_running_loop()
    looked_at = loop.time()
    try:
        yield _event(first)
        while (event := await _next(rest, stop)) is not None:
            if loop.time() - looked_at > _LOOK_S or isinstance(event, Finished):
                looked_at = loop.time()
                if not await sync_to_async(_may_go_on)(access, doc_ids):
                    return
            yield _event(event)
    except OUTAGES as error:
        if outage_of(error) is None:
            raise
        logger.warning("the events of an answer break off: %s", error)
    finally:
        stop.set()
        await sync_to_async(_end)(rest)


async def _next(events: Iterator[AnswerEvent], stop: threading.Event) -> AnswerEvent | None:
    """Wait for the next event in a thread; whoever leaves meanwhile stops the model first, then leaves."""
    step = asyncio.ensure_future(sync_to_async(next)(events, None))
    try:
        return await asyncio.shield(step)
    except asyncio.CancelledError:
        stop.set()
        await step
        raise


def _end(events: Iterator[AnswerEvent]) -> None:
    for _ in events:
        pass


def _may_go_on(access: Access, doc_ids: Collection[str]) -> bool:
    with acting_for_a_step_in(access.workspace.pk):
        current = access_now(access)
        if current is None or Scope.ASK not in current.scopes:
            return False
        readable = documents_of(current.workspace, current.reader).filter(doc_id__in=doc_ids)
        return readable.count() == len(doc_ids)


def _event(event: AnswerEvent) -> Event:
    if isinstance(event, Retrieved):
        hits = [answer_hit_to_wire(hit) for hit in event.hits]
        return "retrieval", {"conversation_id": str(event.conversation_id), "hits": hits}
    if isinstance(event, TextAdded):
        return "token", {"text": event.text}
    return "final", dict(answer_to_wire(event.answer))
