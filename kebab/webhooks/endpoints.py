"""Endpoints of a workspace: creation, change and deletion by its admins, with audit events.

A transaction in a workspace without a matching endpoint pays one statement, which finds no row by an index.
"""

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from kebab.database.querysets import first_or_not_found
from kebab.encryption import EncryptionError, RotationResult, encrypt, rotate_column
from kebab.errors import Conflict, InvalidRequest, Unprocessable
from kebab.http_client.connections import RequestFailed, is_explicit_address, resolve_permitted
from kebab.identity.caller import Access
from kebab.identity.models import Workspace
from kebab.people import audit
from kebab.webhooks.delivery import mint_secret
from kebab.webhooks.models import DOCUMENT_EVENTS, MAX_URL_CHARS, Delivery, Endpoint

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


#: The most endpoints of a workspace.
MAX_ENDPOINTS: Final = 20


def endpoints_of(workspace: Workspace) -> "QuerySet[Endpoint]":
    """Return the endpoints of a workspace, oldest first."""
    return Endpoint.objects.filter(workspace=workspace)


def get_endpoint(workspace: Workspace, endpoint_id: uuid.UUID) -> Endpoint:
    """Return the endpoint. Raises NotFound."""
    return first_or_not_found(endpoints_of(workspace).filter(pk=endpoint_id))


def deliveries_of(endpoint: Endpoint, *, state: str | None = None) -> "QuerySet[Delivery]":
    """Return the deliveries to an endpoint, those in one state if it is given."""
    rows = Delivery.objects.filter(workspace=endpoint.workspace_id, endpoint=endpoint.pk)
    return rows if state is None else rows.filter(state=state)


def create_endpoint(
    access: Access, *, url: str, events: Sequence[str], description: str = ""
) -> tuple[Endpoint, str]:
    """Create an endpoint; return it and the secret that signs its deliveries.

    Raises InvalidRequest for its address, Conflict for too many, Unprocessable without a key for secrets.
    """
    check_url(url)
    secret = mint_secret()
    with transaction.atomic():
        workspace = Workspace.objects.select_for_update(no_key=True).get(pk=access.workspace.pk)
        if endpoints_of(workspace).count() >= MAX_ENDPOINTS:
            raise Conflict(f"There are {MAX_ENDPOINTS} webhooks already; delete one first.")
        endpoint = Endpoint.objects.create(
            workspace=workspace,
            url=url,
            events=sorted(set(events)),
            description=description,
            sealed_secret=_seal(secret),
            document_seq=workspace.head_seq,
        )
        audit.record(
            access, "webhook.created", endpoint.masked_url, id=str(endpoint.pk), events=endpoint.events
        )
    return endpoint, secret


def change_endpoint(access: Access, endpoint_id: uuid.UUID, **changes: Any) -> Endpoint:
    """Change `url`, `events`, `description` or `is_enabled`, once a delivery that is under way has ended.

    An endpoint that is enabled again receives the document events since, as far as the change log reaches.
    Raises NotFound, InvalidRequest.
    """
    if "url" in changes:
        check_url(changes["url"])
    with transaction.atomic():
        rows = endpoints_of(access.workspace).select_for_update(no_key=True)
        endpoint = first_or_not_found(rows.filter(pk=endpoint_id))
        is_enabled = changes.pop("is_enabled", None)
        if "events" in changes:
            _subscribe(endpoint, changes.pop("events"))
        for name, value in changes.items():
            setattr(endpoint, name, value)
        if is_enabled is not None and is_enabled != (endpoint.disabled_at is None):
            endpoint.disabled_at = None if is_enabled else timezone.now()
            endpoint.disabled_because = ""
        endpoint.failures, endpoint.failing_since, endpoint.paused_until = 0, None, None
        endpoint.save()
        state = {"id": str(endpoint.pk), "is_enabled": endpoint.disabled_at is None}
        audit.record(access, "webhook.changed", endpoint.masked_url, events=endpoint.events, **state)
    return endpoint


def delete_endpoint(access: Access, endpoint_id: uuid.UUID) -> None:
    """Delete an endpoint with its log, once a delivery that is under way has ended. Raises NotFound."""
    with transaction.atomic():
        rows = endpoints_of(access.workspace).select_for_update()
        endpoint = first_or_not_found(rows.filter(pk=endpoint_id))
        endpoints_of(access.workspace).filter(pk=endpoint_id).delete()
        audit.record(access, "webhook.deleted", endpoint.masked_url, id=str(endpoint_id))


def send_test(access: Access, endpoint_id: uuid.UUID) -> uuid.UUID:
    """Queue a test event for an endpoint; return the event's id. Raises NotFound, Conflict."""
    endpoint = get_endpoint(access.workspace, endpoint_id)
    if endpoint.disabled_at is not None:
        raise Conflict("This webhook is disabled, so nothing is sent to it; enable it first.")
    event_id = uuid.uuid4()
    data = {"endpoint": str(endpoint.pk)}
    event = Event(type=TEST_EVENT, subject=event_id.hex, data=data, id=event_id)
    publish(access.workspace.pk, [event], endpoint_id=endpoint.pk)
    return event_id


def rotate_secrets() -> RotationResult:
    """Encrypt all secrets with the first key; log and leave those that no key decrypts."""
    return rotate_column(Endpoint.objects.all(), "sealed_secret")


def check_url(url: str) -> None:
    """Raise InvalidRequest unless deliveries may go to this address.

    What its name resolves to is checked with each delivery.
    """
    parts = _split(url)
    if parts is None or parts.hostname is None or len(url) > MAX_URL_CHARS:
        raise InvalidRequest(
            f"{url[:100]!r} is not an address for events; give one like https://example.org/hook."
        )
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise InvalidRequest(
            f"The address {parts.hostname!r} has a name, a password or a fragment; leave it out."
        )
    host = parts.hostname.lower()
    if parts.scheme != "https" and host not in settings.KEBAB_PRIVATE_HOSTS:
        raise InvalidRequest(f"{host!r} would get events unencrypted; give an address with https.")
    if is_explicit_address(host):
        try:
            resolve_permitted(host, parts.port or 443, settings.KEBAB_PRIVATE_HOSTS)
        except RequestFailed as error:
            raise InvalidRequest(f"{host!r} {error}.") from error


def _split(url: str) -> SplitResult | None:
    """Return the parts of a URL of HTTP; None if it is none."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises for an invalid port
    except ValueError:
        return None
    is_printable = url.isascii() and url.isprintable() and " " not in url
    return parts if is_printable and parts.scheme in {"http", "https"} else None


def _subscribe(endpoint: Endpoint, events: Sequence[str]) -> None:
    """Set the events; documents are followed from now on unless they were followed before."""
    if not set(DOCUMENT_EVENTS) & set(endpoint.events):
        heads = Workspace.objects.values_list("head_seq", flat=True)
        endpoint.document_seq = heads.get(pk=endpoint.workspace_id)
    endpoint.events = sorted(set(events))


def _seal(secret: str) -> str:
    try:
        return encrypt(secret)
    except EncryptionError as error:
        raise Unprocessable(str(error), code="no_encryption_key") from error
