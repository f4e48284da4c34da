"""Who is calling, and what they may do in which workspace: every door asks here."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kebab.api.errors import NotFound
from kebab.people.models import ApiToken, Membership, Role, Scope, User, Workspace
from kebab.people.models.workspace import SLUG

_SCOPES_OF_ROLE: Mapping[Role, frozenset[Scope]] = {
    Role.VIEWER: frozenset({Scope.SEARCH, Scope.ASK}),
    Role.EDITOR: frozenset({Scope.SEARCH, Scope.ASK, Scope.INGEST}),
    Role.ADMIN: frozenset(Scope),
    Role.OWNER: frozenset(Scope),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who made a request: a person, or a tool with a token. Exactly one of the two is set."""

    user: User | None = None
    token: ApiToken | None = None

    @property
    def actor(self) -> str:
        """The person's address, or the token without its secret: what logs and audit show."""
        return f"kbb_{self.token.prefix}" if self.token is not None else self.user.email  # type: ignore[union-attr]

    @property
    def identity(self) -> str:
        """A name that never passes to another caller: what cursors and kept answers are bound to."""
        return f"token:{self.token.pk}" if self.token is not None else f"user:{self.user.pk}"  # type: ignore[union-attr]


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """A caller in one workspace. It only exists for callers who may know of the workspace."""

    workspace: Workspace
    caller: Caller
    #: A person's role; None for a token.
    role: Role | None
    #: A token's own scopes, or what a person's role amounts to.
    scopes: frozenset[Scope]

    @property
    def user(self) -> User | None:
        """The person, if it is one."""
        return self.caller.user

    @property
    def token(self) -> ApiToken | None:
        """The token, if it is one."""
        return self.caller.token

    @property
    def actor(self) -> str:
        """See `Caller.actor`."""
        return self.caller.actor

    @property
    def identity(self) -> str:
        """See `Caller.identity`."""
        return self.caller.identity


def caller_of(request: Any) -> Caller | None:
    """Give who made an HTTP request (Django's or REST framework's); None for nobody."""
    token = getattr(request, "auth", None)
    if isinstance(token, ApiToken):
        return Caller(token=token)
    return Caller(user=request.user) if request.user.is_authenticated else None


def access_of(request: Any, slug_or_id: str) -> Access:
    """Give the caller's access to a workspace: one query for a person, none for a token.

    Raises NotFound, always the same, for a workspace that is missing, another token's or not the person's.
    """
    caller = caller_of(request)
    if caller is None:
        raise NotFound
    return access_for(caller, slug_or_id)


def access_for(caller: Caller, slug_or_id: str) -> Access:
    """Give `caller`'s access to a workspace by its slug or UUID. Raises NotFound as `access_of` does."""
    if caller.token is not None:
        return _token_access(caller, caller.token, slug_or_id)
    if not SLUG.regex.match(slug_or_id) and _as_uuid(slug_or_id) is None:
        raise NotFound
    memberships = Membership.objects.filter(
        user=caller.user, workspace__in=Workspace.objects.named(slug_or_id)
    ).select_related("workspace")
    membership = memberships.first()
    if membership is None:
        raise NotFound
    return member_access(caller, membership)


def member_access(caller: Caller, membership: Membership) -> Access:
    """Give the access that a person's membership amounts to; its workspace is loaded."""
    role = Role(membership.role)
    return Access(workspace=membership.workspace, caller=caller, role=role, scopes=_SCOPES_OF_ROLE[role])


def token_access(caller: Caller, token: ApiToken) -> Access:
    """Give a token's access to its own workspace."""
    return Access(
        workspace=token.workspace,
        caller=caller,
        role=None,
        scopes=frozenset(Scope(scope) for scope in token.scopes),
    )


def _token_access(caller: Caller, token: ApiToken, slug_or_id: str) -> Access:
    workspace = token.workspace
    if slug_or_id != workspace.slug and _as_uuid(slug_or_id) != workspace.pk:
        raise NotFound
    return token_access(caller, token)


def _as_uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
