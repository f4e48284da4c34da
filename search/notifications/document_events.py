"""Events about documents, read from the change log: writers pay nothing for them."""

import logging
import uuid
from collections.abc import Iterator, Sequence
from typing import Any, Final

from django.db import transaction
from django.db.models import F, QuerySet

from kebab.tenancy.current_workspace import acting_everywhere, acting_in
from kebab.webhooks.endpoints import Event, derive_event_id, publish
from kebab.webhooks.models import DOCUMENT_EVENTS, Delivery, DeliveryState, Endpoint, EventType
from search.models import Change, Document

logger = logging.getLogger(__name__)

_BATCH: Final = 500
#: While as many deliveries wait for an endpoint, the log waits for it, too.
MAX_WAITING: Final = 10_000


def queue_document_events() -> int:
    """Queue the events of all changes that endpoints have not been told of; return their number."""
    with acting_everywhere():
        behind = list(_endpoints_behind().values_list("workspace_id", "pk"))
    return sum(_catch_up(*ids) for ids in behind)


def _endpoints_behind() -> "QuerySet[Endpoint]":
    follows = Endpoint.objects.filter(disabled_at=None, events__overlap=list(DOCUMENT_EVENTS))
    return follows.filter(workspace__head_seq__gt=F("document_seq"))


def _catch_up(workspace_id: uuid.UUID, endpoint_id: uuid.UUID) -> int:
    count = 0
    try:
        with acting_in(workspace_id):
            while not _is_full(workspace_id, endpoint_id) and (
                queued := _queue_batch(workspace_id, endpoint_id)
            ):
                count += queued
    except Exception:  # the other endpoints get theirs
        logger.exception("document events of webhook %s are left to the next call", endpoint_id)
    return count


def _is_full(workspace_id: uuid.UUID, endpoint_id: uuid.UUID) -> bool:
    rows = Delivery.objects.filter(workspace=workspace_id, endpoint=endpoint_id)
    return rows.filter(state=DeliveryState.PENDING)[MAX_WAITING : MAX_WAITING + 1].exists()


def _queue_batch(workspace_id: uuid.UUID, endpoint_id: uuid.UUID) -> int:
    """Queue the next changes and move the endpoint's number in one transaction; return how many changes.

    None of an endpoint whose row is locked: its number stays, and the next call goes on from there.
    """
    with transaction.atomic():
        rows = _endpoints_behind().filter(workspace=workspace_id, pk=endpoint_id)
        # A sender locks the row for a whole request, for which the other endpoints must not wait.
        endpoint = rows.select_for_update(of=("self",), no_key=True, skip_locked=True).first()
        if endpoint is None:
            return 0
        log = Change.objects.in_workspace(workspace_id).filter(seq__gt=endpoint.document_seq)
        changes = list(log.order_by("seq")[:_BATCH])
        if changes:
            publish(workspace_id, list(_events(workspace_id, changes)), endpoint_id=endpoint_id)
            own = Endpoint.objects.filter(workspace=workspace_id, pk=endpoint_id)
            own.update(document_seq=changes[-1].seq)
        return len(changes)


def _events(workspace_id: uuid.UUID, changes: Sequence[Change]) -> Iterator[Event]:
    named = _places(workspace_id, {change.doc_id for change in changes if change.op == "upsert"})
    for change in changes:
        is_deleted = change.op == "delete"
        place = {} if is_deleted else named.get(change.doc_id, {})
        yield Event(
            type=EventType.DOCUMENT_DELETED if is_deleted else EventType.DOCUMENT_INDEXED,
            subject=change.doc_id.hex,
            data={"document": change.doc_id.hex, "seq": change.seq, **place},
            id=derive_event_id("change", workspace_id, change.seq, change.token),
            at=change.at,
        )


def _places(workspace_id: uuid.UUID, doc_ids: set[uuid.UUID]) -> dict[uuid.UUID, dict[str, Any]]:
    """Return source, version and path of the documents that still exist."""
    rows = Document.objects.in_workspace(workspace_id).filter(doc_id__in=doc_ids)
    found = rows.values_list("doc_id", "source__key", "version__tag", "path")
    return {
        doc_id: {"source": source, "version": version or None, "path": path}
        for doc_id, source, version, path in found
    }
