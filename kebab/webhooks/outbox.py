"""The outbox: events are written as deliveries in the transaction of the change that they tell.

A transaction in a workspace without a matching endpoint pays one statement, which finds no row by an index.
"""

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection
from django.utils import timezone

#: The type of the event that every endpoint receives, to try it out.
TEST_EVENT: Final = "webhook.test"
# The namespace of event ids that are derived from what has happened.
_NAMESPACE: Final = uuid.UUID("7f1c0f6e-6a57-5d0b-9a67-0c7d4f2a5f0e")

# The endpoints are locked against deletion only, so that no change waits for a delivery.
_PUBLISH = """
WITH receivers AS (
    SELECT workspace_id, id, events || %(test)s::varchar AS events FROM webhooks_endpoint
    WHERE workspace_id = %(workspace)s AND disabled_at IS NULL
        AND events || %(test)s::varchar && %(types)s::varchar[] AND id = coalesce(%(endpoint)s, id)
    FOR KEY SHARE
)
INSERT INTO webhooks_delivery
    (workspace_id, endpoint_id, event_id, type, subject, body, state, created_at, due_at, attempts, error)
SELECT r.workspace_id, r.id, e.id, e.type, e.subject, e.body, 'pending', now(), now(), 0, ''
FROM receivers r, unnest(%(ids)s::uuid[], %(types)s::varchar[], %(subjects)s::varchar[], %(bodies)s::text[])
    WITH ORDINALITY AS e(id, type, subject, body, nth)
WHERE e.type = ANY(r.events)
ORDER BY e.nth
ON CONFLICT DO NOTHING
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that has happened in a workspace."""

    type: str
    #: Events of one subject, such as a document, reach an endpoint in their order.
    subject: str
    data: Mapping[str, Any]
    #: Fixed, so that an event that is published again is the same one.
    id: uuid.UUID
    at: datetime | None = None

    @property
    def body(self) -> str:
        """Return the body of its deliveries, as Standard Webhooks has it."""
        at = (self.at or timezone.now()).isoformat()
        return json.dumps({"type": self.type, "timestamp": at, "data": self.data})


def derive_event_id(*parts: object) -> uuid.UUID:
    """Return the id of the event that these parts identify in all workspaces."""
    return uuid.uuid5(_NAMESPACE, "\n".join(map(str, parts)))


def publish(workspace_id: uuid.UUID, events: Sequence[Event], *, endpoint_id: uuid.UUID | None = None) -> int:
    """Queue the events for the workspace's endpoints that receive them; return the number of deliveries.

    Call it in the transaction of the change. With `endpoint_id`, only for that endpoint.
    """
    if not events:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(
            _PUBLISH,
            {
                "workspace": workspace_id,
                "endpoint": endpoint_id,
                "test": TEST_EVENT,
                "ids": [event.id for event in events],
                "types": [event.type for event in events],
                "subjects": [event.subject for event in events],
                "bodies": [event.body for event in events],
            },
        )
        return int(cursor.rowcount)
