"""Administrator and workspace of the demonstration, with queries to begin with."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kebab.identity.models import User, Workspace
from kebab.people.operator import command_line_caller, first_operator, recording_accounts
from kebab.people.workspaces import create_workspace, store_settings

ADMIN = "admin@kebab.local"
WORKSPACE = "demo"
#: Queries that the start page offers, each with the document that it should find first.
EXAMPLES: Final[Mapping[str, str]] = {
    "How do I connect to the VPN?": "handbook/it/vpn.md",
    "When is the salary paid?": "handbook/people/pay-dates.md",
    "Who is head of IT?": "handbook/people/directory.html",
    "error CW-207": "handbook/it/vpn-troubleshooting.md",
    "Wann verfällt der Resturlaub?": "handbook/de/urlaub.md",
    "congés payés": "handbook/fr/conges-payes.md",
    "budget-2026.xlsx": "handbook/finance/budget-2026.xlsx",
    "winch grinds wrong bearing set": "handbook/mail/kestrel-46-grinding.eml",
}
_EXAMPLES_SETTING: Final = "example_queries"


@dataclass(frozen=True, slots=True, kw_only=True)
class Administrator:
    """The administrator; `password` is known only when the account was just created."""

    user: User
    password: str | None


def ensure_administrator() -> Administrator:
    """Return the first superuser, created with a random password when there is none."""
    present = first_operator()
    if present is not None:
        return Administrator(user=present, password=None)
    password = secrets.token_urlsafe(12)
    with recording_accounts("user.added"):
        return Administrator(user=User.objects.create_superuser(ADMIN, password), password=password)


def ensure_workspace(owner: User) -> Workspace:
    """Return the workspace `demo`, created with `owner` as its owner when it is missing."""
    workspace = Workspace.objects.filter(slug=WORKSPACE).first()
    if workspace is None:
        workspace = create_workspace(command_line_caller(), WORKSPACE, name="Demo", owner=owner)
    if workspace.settings.get(_EXAMPLES_SETTING) != list(EXAMPLES):
        workspace = store_settings(workspace, {_EXAMPLES_SETTING: list(EXAMPLES)})
    return workspace
