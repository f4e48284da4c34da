"""Lookup of the workspace and the person that a command's arguments name."""

import os

from kebab.cli.errors import CliError
from kebab.exit_codes import Exit
from kebab.identity.models import User, Workspace

_MOST_CHOICES = 20


def find_workspace(slug_or_id: str | None) -> Workspace:
    """Return the named workspace, else that of KEBAB_WORKSPACE, else the only one.

    Raises CliError with the choices.
    """
    slug_or_id = slug_or_id or os.environ.get("KEBAB_WORKSPACE", "").strip() or None
    if slug_or_id is None:
        return _find_only_workspace()
    workspace = Workspace.objects.by_slug_or_id(slug_or_id).first()
    if workspace is None:
        raise CliError(
            f"There is no workspace {slug_or_id!r}; {_list_choices()}.",
            code="not_found",
        )
    return workspace


def _find_only_workspace() -> Workspace:
    found = list(Workspace.objects.all()[:2])
    if not found:
        raise CliError(f"No workspace was named, and {_list_choices()}.", code="workspace_needed")
    if len(found) > 1:
        raise CliError(f"Say which workspace with --workspace; {_list_choices()}.", code="workspace_needed")
    return found[0]


def _list_choices() -> str:
    slugs = list(Workspace.objects.order_by("slug").values_list("slug", flat=True)[: _MOST_CHOICES + 1])
    if not slugs:
        return "there is none yet: kebab workspace create SLUG"
    more = ", …" if len(slugs) > _MOST_CHOICES else ""
    return f"there are: {', '.join(slugs[:_MOST_CHOICES])}{more}"


def find_user(email: str) -> User:
    """Return the user with this address. Raises CliError."""
    user = User.objects.with_address(email).first()
    if user is None:
        raise CliError(
            f"There is no user {email!r}. People come by invitation (the page People); an operator comes"
            f" by: kebab createsuperuser --email {email}",
            code="user_unknown",
            exit_code=Exit.NOTHING,
        )
    return user
