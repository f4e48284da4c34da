"""Writes down who did what: one row an act, in the act's own transaction."""

import getpass
from typing import Any

from kebab.people.access import Access
from kebab.people.models import AuditEvent, Workspace

_MAX_SUBJECT_CHARS = 500


def record(access: Access, action: str, subject: str = "", **detail: Any) -> None:
    """Write that the caller did `action` (`member.added`) to `subject`. `detail` never holds a secret."""
    _write(access.workspace, access.actor, action, subject, detail)


def record_operator(workspace: Workspace, action: str, subject: str = "", **detail: Any) -> None:
    """Write that whoever runs the command line on this machine did `action` to `subject`."""
    _write(workspace, operator(), action, subject, detail)


def operator() -> str:
    """Give the actor that stands for whoever runs the command line on this machine."""
    return f"operator:{_login_name()}"


def _write(workspace: Workspace, actor: str, action: str, subject: str, detail: dict[str, Any]) -> None:
    AuditEvent.objects.create(
        workspace=workspace,
        actor=actor,
        action=action,
        subject=subject[:_MAX_SUBJECT_CHARS],
        detail=detail,
    )


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user need not have a name
        return "unnamed"
