"""The audit log: one row for each action with actor and address, in the action's own transaction."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from kebab.database.transactions import run_on_commit
from kebab.identity.caller import Access
from kebab.identity.models import AuditEvent, Workspace
from kebab.identity.operator_token import OPERATOR_PREFIX, user_name
from kebab.stack.servers.rights_place import store_rights_place

_MAX_SUBJECT_CHARS = 500
_MAX_ACTOR_CHARS = 320

#: The client address of the current request; None for the command line and tasks.
address: ContextVar[str | None] = ContextVar("kebab_audit_address", default=None)


@contextmanager
def acting_from(request_address: str | None) -> Iterator[None]:
    """Set the client address of the events recorded within the block."""
    token = address.set(request_address)
    try:
        yield
    finally:
        address.reset(token)


def record(access: Access, action: str, subject: str = "", **detail: Any) -> None:
    """Record that the caller did `action` (`member.added`) to `subject`. `detail` never holds a secret.

    The token with which a tool acted for the person is among the details.
    """
    _write(access.workspace, access.actor, action, subject, {**detail, **access.caller.tool})


def record_person(
    actor: str, action: str, subject: str = "", *, workspace: Workspace | None = None, **detail: Any
) -> None:
    """Record an action without an `Access`: signing in, accepting an invitation, creating a workspace.

    `actor` is an e-mail address, as entered if the person hasn't been authenticated.
    """
    _write(workspace, actor, action, subject, detail)


def events_of(
    workspace: Workspace,
    *,
    action: str | None = None,
    actor: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> "QuerySet[AuditEvent]":
    """Return a workspace's events that pass all filters; an `action` that ends in a dot is a prefix."""
    events = AuditEvent.objects.filter(workspace=workspace)
    if action is not None:
        events = events.filter(**{"action__startswith" if action.endswith(".") else "action": action})
    if actor is not None:
        events = events.filter(actor=actor)
    if since is not None:
        events = events.filter(at__gte=since)
    return events if until is None else events.filter(at__lt=until)


def operator_actor() -> str:
    """Return the actor name of the user who runs the command line on this machine."""
    return f"{OPERATOR_PREFIX}{user_name()}"


def _write(
    workspace: Workspace | None, actor: str, action: str, subject: str, detail: dict[str, Any]
) -> None:
    AuditEvent.objects.create(
        workspace=workspace,
        actor=actor[:_MAX_ACTOR_CHARS],
        action=action,
        subject=subject[:_MAX_SUBJECT_CHARS],
        detail=detail,
        address=_strip_zone(address.get()),
    )
    run_on_commit(store_rights_place)


def _strip_zone(found: str | None) -> str | None:
    return None if found is None else found.partition("%")[0]  # Postgres refuses `fe80::1%eth0`
