"""Endpoints of a workspace: creation, change and deletion by its admins, with audit events."""

import uuid
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from kebab.database.querysets import first_or_not_found
from kebab.encryption import EncryptionError, RotationResult, encrypt, rotate_column
from kebab.errors import Conflict, InvalidRequest, Unprocessable
from kebab.http_client.connections import is_explicit_address, resolve_permitted
from kebab.http_client.errors import RequestFailed
from kebab.identity.caller import Access
from kebab.identity.models import Workspace
from kebab.people import audit
from kebab.webhooks.models import DOCUMENT_EVENTS, MAX_URL_CHARS, Delivery, Endpoint
from kebab.webhooks.outbox import TEST_EVENT, Event, publish
from kebab.webhooks.signature import mint_secret

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
