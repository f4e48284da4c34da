"""Administrator and workspace of the demonstration."""

import secrets
from dataclasses import dataclass

from kebab.people.models import User, Workspace
from kebab.people.operator import command_line_caller, recording_accounts
from kebab.people.workspaces import create_workspace

ADMIN = "admin@kebab.local"
WORKSPACE = "demo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Administrator:
    """The administrator; `password` is known only when the account was just created."""

    user: User
    password: str | None


def ensure_administrator() -> Administrator:
    """Return the first superuser, created with a random password when there is none."""
    present = User.objects.filter(is_superuser=True, is_active=True).order_by("date_joined", "pk").first()
    if present is not None:
        return Administrator(user=present, password=None)
    password = secrets.token_urlsafe(12)
    with recording_accounts("user.added"):
        return Administrator(user=User.objects.create_superuser(ADMIN, password), password=password)


def ensure_workspace(owner: User) -> Workspace:
    """Return the workspace `demo`, created with `owner` as its owner when it is missing."""
    present = Workspace.objects.filter(slug=WORKSPACE).first()
    if present is not None:
        return present
    return create_workspace(command_line_caller(), WORKSPACE, name="Demo", owner=owner)
