"""Lookup of the people, groups and tokens that a command's arguments name."""

import re
import uuid
from typing import Any

from django.db.models import Q

from kebab.cli.errors import CliError, Exit
from kebab.people.models import Group, User, Workspace
from kebab.people.tokens import readable_tokens

_PREFIX = re.compile(r"\A(?:kbb_)?([a-z2-7]{12})(?:_.*)?\Z")


def find_user(email: str) -> User:
    """Return the user with this address. Raises CliError."""
    user = User.objects.with_address(email).first()
    if user is None:
        raise CliError(
            f"There is no user {email!r}. People come by invitation (kebab member invite); an operator comes"
            f" by: kebab createsuperuser --email {email}",
            code="user_unknown",
            exit_code=Exit.NOTHING,
        )
    return user


def find_member(workspace: Workspace, email: str) -> User:
    """Return the member of the workspace with this address. Raises CliError."""
    user = User.objects.with_address(email).filter(memberships__workspace=workspace).first()
    if user is None:
        raise CliError(
            f"{email} is no member of {workspace.slug}; see: kebab member list",
            code="not_found",
            exit_code=Exit.NOTHING,
        )
    return user


def find_group(workspace: Workspace, name_or_id: str) -> Group:
    """Return the workspace's group of this name or id. Raises CliError."""
    by_id = _by_id(name_or_id)  # first: an admin may give a group the id of another as its name
    found = workspace.groups.filter(by_id).first() if by_id else None
    group = found or workspace.groups.filter(name=name_or_id).first()
    if group is None:
        raise CliError(
            f"There is no group {name_or_id!r} in {workspace.slug}; see: kebab group list",
            code="not_found",
            exit_code=Exit.NOTHING,
        )
    return group


def find_token(id_or_prefix: str) -> Any:
    """Return the token, one of `readable_tokens`, with this id or prefix. Raises CliError."""
    prefix = _PREFIX.match(id_or_prefix)
    which = Q(prefix=prefix[1]) if prefix is not None else _by_id(id_or_prefix)
    if not which:
        raise CliError(f"{id_or_prefix[:40]!r} is neither a token's id nor its prefix (kbb_…).")
    token = readable_tokens().filter(which).first()
    if token is None:
        raise CliError(
            "There is no such token; see: kebab token list", code="not_found", exit_code=Exit.NOTHING
        )
    return token


def _by_id(text: str) -> Q:
    """Return the condition that a row has this id; an empty one if `text` is no id."""
    try:
        return Q(id=uuid.UUID(text))
    except ValueError:
        return Q()
