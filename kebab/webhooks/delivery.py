"""Delivery of queued events: at least once, and of one subject in their order.

The endpoint's row is locked while an event is sent: one sender at a time, and whoever disables or deletes the
endpoint waits for it, so that nothing is sent after. A sender that dies loses the lock with its connection,
and another sends the event again. An event that fails delays later ones of its subject; an endpoint pauses
after each failure, and is disabled after days without a success.

A call sends to several endpoints at once, each in a thread and a transaction of its own. Slow endpoints delay
neither other workspaces, of which each has its share of the threads, nor the next call, which skips them.
"""

import base64
import logging
import random
import secrets
import threading
import time
import uuid
from collections import Counter, deque
from collections.abc import Iterable
from contextlib import closing
from datetime import datetime, timedelta
from smtplib import SMTPException
from typing import Any, Final, NamedTuple

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from standardwebhooks import Webhook

from kebab.database.transactions import run_on_commit
from kebab.encryption import EncryptionError, decrypt
from kebab.http_client.connections import RequestFailed, StatusRefused
from kebab.http_client.endpoint import JsonEndpoint
from kebab.identity.models import Membership, Role
from kebab.people import audit
from kebab.people.invitations import mail_is_delivered
from kebab.runtime.context_executor import ContextExecutor
from kebab.stack.supervisor import worker_stop
from kebab.tenancy.current_workspace import acting_everywhere, acting_in
from kebab.webhooks.models import Delivery, DeliveryState, Endpoint


def mail_disabled(endpoint: Endpoint, reason: str) -> None:
    """Mail the owners that the endpoint is disabled; a refusal by the mail server is logged."""
    if not mail_is_delivered():
        return
    workspace = endpoint.workspace
    owners = Membership.objects.filter(workspace=workspace, role=Role.OWNER, user__is_active=True)
    page = reverse("webhook", args=[workspace.slug, endpoint.pk])
    facts = {
        "url": endpoint.masked_url,
        "workspace": " ".join(workspace.name.split()),  # a header has no line breaks
        "reason": reason,
        "link": settings.KEBAB_URL and settings.KEBAB_URL + page,
    }
    message = EmailMessage(
        render_to_string("webhooks/disabled_subject.txt", facts).strip(),
        render_to_string("webhooks/disabled.txt", facts),
        to=list(owners.order_by("user__email").values_list("user__email", flat=True)),
    )
    try:
        message.send()
    except (SMTPException, OSError) as error:
        logger.warning("The mail about webhook %s was not sent: %s", endpoint.pk, type(error).__name__)


_SECRET_BYTES: Final = 32


def mint_secret() -> str:
    """Return a new secret of an endpoint."""
    return f"whsec_{base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()}"


def signed_headers(secret: str, message_id: str, at: datetime, body: str) -> dict[str, str]:
    """Return the headers that identify and sign a delivery; `at` is in UTC."""
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign(message_id, at, body),
    }


class DueEndpoint(NamedTuple):
    """An endpoint with an event that is due."""

    workspace_id: uuid.UUID
    endpoint_id: uuid.UUID


class Turns:
    """The waiting endpoints, workspace after workspace; threads share it.

    A workspace begins a turn while it has fewer under way than senders are idle, so that one alone occupies
    half of them, two a third each, and one that has none under way needs a single idle sender: the dynamic
    threshold of Choudhury and Hahne (Dynamic queue length thresholds in a shared memory ATM switch, 1996).
    """

    def __init__(self, due: Iterable[DueEndpoint], *, senders: int) -> None:
        self._senders = senders
        self._lock = threading.Lock()
        self._under_way: Counter[uuid.UUID] = Counter()
        self._waiting: dict[uuid.UUID, deque[DueEndpoint]] = {}
        for each in due:
            self._waiting.setdefault(each.workspace_id, deque()).append(each)

    def begin(self) -> DueEndpoint | None:
        """Return the endpoint whose turn begins; None if none may begin now."""
        with self._lock:
            idle = self._senders - self._under_way.total()
            for workspace_id, waiting in self._waiting.items():
                if waiting and self._under_way[workspace_id] < idle:
                    self._under_way[workspace_id] += 1
                    self._waiting[workspace_id] = self._waiting.pop(workspace_id)  # the others go first
                    return waiting.popleft()
            return None

    def end(self, turn: DueEndpoint, *, has_more: bool) -> None:
        """End a turn; an endpoint that may have more events waits for its next."""
        with self._lock:
            self._under_way[turn.workspace_id] -= 1
            if has_more:
                self._waiting[turn.workspace_id].append(turn)


logger = logging.getLogger(__name__)

#: The time for one request; below `lock_timeout`, for which those who change the endpoint wait.
REQUEST_LIMIT_S: Final = 4.0
#: After as long without a success an endpoint is disabled, and an event given up.
GIVE_UP_AFTER: Final = timedelta(days=3)
#: Retention of deliveries.
KEEP: Final = timedelta(days=7)
# A call begins no request after this time; the next call goes on.
_RUN_LIMIT_S: Final = 2.0
# Endpoints that a call sends to at once; each holds a connection to the database for as long.
_SENDERS: Final = 8
_FIRST_DELAY_S: Final = 5.0
_LONGEST_DELAY_S: Final = 6 * 3600.0
_LONGEST_PAUSE_S: Final = 600.0
_GONE: Final = 410
_MAX_ERROR_CHARS: Final = 300
_MAX_RESPONSE_BYTES: Final = 65_536


def deliver_due(run_limit_s: float = _RUN_LIMIT_S, *, senders: int = _SENDERS) -> int:
    """Send the events that are due, for a limited time; return the number delivered."""
    ends_at = time.monotonic() + run_limit_s
    with acting_everywhere():
        due = [DueEndpoint(*ids) for ids in _due_endpoints().values_list("workspace_id", "pk")]
    random.shuffle(due)  # the time may be over before the last one's turn
    turns = Turns(due, senders=senders)
    helpers = min(senders, len(due)) - 1
    with closing(_Sender()) as sender, ContextExecutor(max(1, helpers), "webhook") as threads:
        counts = [threads.submit(_send_in_thread, turns, sender, ends_at) for _ in range(helpers)]
        return _send_in_turn(turns, sender, ends_at) + sum(count.result() for count in counts)


def prune_deliveries() -> int:
    """Delete deliveries past their retention; return the number deleted."""
    workspaces = Endpoint.objects.order_by().values_list("workspace_id", flat=True).distinct()
    old = [
        Delivery.objects.filter(workspace=workspace_id, created_at__lt=timezone.now() - KEEP)
        for workspace_id in workspaces
    ]
    return sum(rows.delete()[0] for rows in old)


def _send_in_thread(turns: Turns, sender: "_Sender", ends_at: float) -> int:
    """Send as `_send_in_turn` does, on a connection of this thread's own."""
    try:
        return _send_in_turn(turns, sender, ends_at)
    finally:
        connection.close()


def _send_in_turn(turns: Turns, sender: "_Sender", ends_at: float) -> int:
    """Send a delivery of each endpoint whose turn begins, as time permits; return the number delivered."""
    count = 0
    while (
        time.monotonic() < ends_at and not worker_stop.is_requested() and (turn := turns.begin()) is not None
    ):
        is_delivered = False
        try:
            with acting_in(turn.workspace_id):
                is_delivered = _deliver_next(turn, sender)
        except Exception:  # the other endpoints get theirs
            logger.exception("webhook %s is left to the next call", turn.endpoint_id)
        finally:
            turns.end(turn, has_more=is_delivered)
        count += is_delivered
    return count


class _Sender:
    """Sends deliveries, and keeps the connections of a run; threads share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clients: dict[str, JsonEndpoint] = {}

    def send(self, endpoint: Endpoint, delivery: Delivery) -> None:
        """Send a delivery. Raises RequestFailed, EncryptionError."""
        secret = decrypt(endpoint.sealed_secret)
        headers = signed_headers(secret, delivery.message_id, timezone.now(), delivery.body)
        client = self._client(endpoint.url)
        client.send(delivery.body.encode(), headers=headers, limit_s=REQUEST_LIMIT_S)

    def _client(self, url: str) -> JsonEndpoint:
        with self._lock:
            if url not in self._clients:
                self._clients[url] = JsonEndpoint(
                    url,
                    headers={"User-Agent": "Kebab-Webhooks"},
                    private_hosts=settings.KEBAB_PRIVATE_HOSTS,
                    max_response_bytes=_MAX_RESPONSE_BYTES,
                )
            return self._clients[url]

    def close(self) -> None:
        for client in self._clients.values():
            client.close()


def _receiving_endpoints() -> "QuerySet[Endpoint]":
    """Return the endpoints that are neither disabled nor paused."""
    is_awake = Q(paused_until=None) | Q(paused_until__lte=Now())
    return Endpoint.objects.filter(is_awake, disabled_at=None)


def _due_endpoints() -> "QuerySet[Endpoint]":
    waiting = Delivery.objects.filter(
        workspace=OuterRef("workspace"), endpoint=OuterRef("pk"), state=DeliveryState.PENDING
    )
    return _receiving_endpoints().filter(Exists(waiting.filter(due_at__lte=Now())))


def _deliver_next(turn: DueEndpoint, sender: _Sender) -> bool:
    """Send the endpoint's next delivery; return whether it was delivered, so that the next may follow."""
    with transaction.atomic():
        rows = _receiving_endpoints().filter(workspace=turn.workspace_id, pk=turn.endpoint_id)
        endpoint = rows.select_for_update(no_key=True, skip_locked=True).first()
        delivery = None if endpoint is None else _next_delivery(endpoint)
        if endpoint is None or delivery is None:
            return False
        try:
            sender.send(endpoint, delivery)
        except (RequestFailed, EncryptionError) as error:
            _record_failure(endpoint, delivery, error)
            return False
        _update(delivery, state=DeliveryState.DELIVERED, status=None, error="")
        if endpoint.failures:
            _update_endpoint(endpoint, failures=0, failing_since=None, paused_until=None)
        return True


def _next_delivery(endpoint: Endpoint) -> Delivery | None:
    """Return the due delivery that no earlier one of its subject is waiting before, locked.

    One that has failed comes after those that became due before it. Whoever deletes what the event is about
    waits for the lock, too.
    """
    waiting = Delivery.objects.filter(
        workspace=endpoint.workspace_id, endpoint=endpoint.pk, state=DeliveryState.PENDING
    )
    earlier = waiting.filter(subject=OuterRef("subject"), id__lt=OuterRef("id"))
    due = waiting.filter(~Exists(earlier), due_at__lte=Now())
    return due.order_by("due_at", "id").select_for_update(no_key=True).first()


def _record_failure(endpoint: Endpoint, delivery: Delivery, error: Exception) -> None:
    status, retry_after_s = None, 0.0
    if isinstance(error, StatusRefused):
        status, retry_after_s = error.status, error.retry_after_s or 0.0
    now = timezone.now()
    is_over = delivery.created_at < now - GIVE_UP_AFTER
    _update(
        delivery,
        state=DeliveryState.FAILED if is_over else DeliveryState.PENDING,
        due_at=_in(_backoff_s(delivery.attempts, _LONGEST_DELAY_S)),
        status=status,
        error=f"It {error}."[:_MAX_ERROR_CHARS],
    )
    since = endpoint.failing_since or now
    pause_s = max(_backoff_s(endpoint.failures, _LONGEST_PAUSE_S), min(retry_after_s, _LONGEST_DELAY_S))
    _update_endpoint(endpoint, failures=F("failures") + 1, failing_since=since, paused_until=_in(pause_s))
    if status == _GONE or since < now - GIVE_UP_AFTER:
        _disable(endpoint, f"It {error}.")


def _disable(endpoint: Endpoint, reason: str) -> None:
    _update_endpoint(endpoint, disabled_at=Now(), disabled_because=reason[:200])
    facts = {"id": str(endpoint.pk), "reason": reason}
    audit.record_person(
        "kebab", "webhook.disabled", endpoint.masked_url, workspace=endpoint.workspace, **facts
    )
    run_on_commit(mail_disabled, endpoint, reason)
    logger.warning("webhook %s is disabled: %s", endpoint.pk, reason)


def _update(delivery: Delivery, **fields: Any) -> None:
    rows = Delivery.objects.filter(workspace=delivery.workspace_id, pk=delivery.pk)
    rows.update(attempts=F("attempts") + 1, attempted_at=Now(), **fields)


def _update_endpoint(endpoint: Endpoint, **fields: Any) -> None:
    Endpoint.objects.filter(workspace=endpoint.workspace_id, pk=endpoint.pk).update(**fields)


def _backoff_s(failures: int, longest_s: float) -> float:
    """Return a delay that doubles with each failure, with a jitter of a tenth."""
    delay_s = min(longest_s, _FIRST_DELAY_S * 2.0 ** min(failures, 20))
    return delay_s * random.uniform(0.9, 1.1)  # noqa: S311  # jitter, not a secret


def _in(seconds: float) -> Any:
    return Now() + timedelta(seconds=seconds)
