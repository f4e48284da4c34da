"""Callers, their access to workspaces, and what a role or a scope permits, for every interface."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, QuerySet
from django.utils.translation import gettext as _

from kebab.database.querysets import first_or_not_found
from kebab.errors import Forbidden, NotFound
from kebab.identity.models import (
    ApiToken,
    GroupMember,
    Membership,
    PersonalToken,
    Role,
    TokenScope,
    User,
    Workspace,
)
from kebab.identity.models.token import Token
from kebab.identity.models.workspace import is_slug
from kebab.identity.operator_token import OPERATOR_PREFIX, Operator
from kebab.identity.reader import OPERATOR, Reader
from kebab.identity.request_record import record_caller, record_workspace
from kebab.identity.sessions import is_session_valid
from kebab.identity.tokens import readable_tokens
from kebab.tenancy.current_workspace import acting_everywhere, acting_in
from kebab.uuids import parse_uuid

_READ_ALL = frozenset({Role.ADMIN, Role.OWNER})
_SCOPES_OF_ROLE: Mapping[Role, frozenset[TokenScope]] = {
    Role.VIEWER: frozenset({TokenScope.SEARCH, TokenScope.ASK}),
    Role.EDITOR: frozenset({TokenScope.SEARCH, TokenScope.ASK, TokenScope.INGEST}),
    Role.ADMIN: frozenset(TokenScope) - {TokenScope.ADMINISTER},
    Role.OWNER: frozenset(TokenScope),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The caller: a person, a tool with a token, or an operator. Exactly one of the three is set."""

    user: User | None = None
    #: The token with which a tool acts for the person.
    personal_token: PersonalToken | None = None
    token: ApiToken | None = None
    #: The actor name of an operator, who acts on the command line.
    operator: str | None = None
    #: The session of a person's request; as secret as a password.
    session_key: str | None = field(default=None, repr=False, compare=False)

    @property
    def actor(self) -> str:
        """Return the person's address, or the token without its secret, for logs and audit events."""
        if self.operator is not None:
            return self.operator
        return f"kbb_{self.token.prefix}" if self.token is not None else self.person.email

    @property
    def identity(self) -> str:
        """Return a name that never passes to another caller; cursors and stored answers are bound to it."""
        if self.operator is not None:
            return self.operator
        return f"token:{self.token.pk}" if self.token is not None else f"user:{self.person.pk}"

    @property
    def tool(self) -> dict[str, str]:
        """Return the personal token without its secret, for the details of audit events; else nothing."""
        token = self.personal_token
        return {} if token is None else {"token": f"{token.kind}_{token.prefix}"}

    @property
    def share(self) -> str:
        """Return the name whose share of a process the caller uses: a token's is that of its workspace."""
        return self.identity if self.token is None else str(self.token.workspace_id)

    @property
    def person(self) -> User:
        """Return the user, also of a personal token. Raises Forbidden for another tool or an operator."""
        if self.user is None:
            raise Forbidden("Only a person can do this.")
        return self.user


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """A caller's rights in one workspace. It exists only for callers who may know of the workspace."""

    workspace: Workspace
    caller: Caller
    #: A person's role; None for a token.
    role: Role | None
    #: A token's own scopes, or those of a person's role.
    scopes: frozenset[TokenScope]
    #: The caller's read rights: which sources are visible.
    reader: Reader

    @property
    def user(self) -> User | None:
        """Return the person, if the caller is one."""
        return self.caller.user

    @property
    def token(self) -> ApiToken | None:
        """Return the token, if the caller is one."""
        return self.caller.token

    @property
    def actor(self) -> str:
        """Return `Caller.actor`."""
        return self.caller.actor

    @property
    def identity(self) -> str:
        """Return `Caller.identity`."""
        return self.caller.identity


def caller_of(request: Any) -> Caller | None:
    """Return the caller of an HTTP request (Django's or REST framework's); None for an anonymous one."""
    caller = _find_caller(request)
    if caller is not None:
        record_caller(request, caller.share)
    return caller


def _find_caller(request: Any) -> Caller | None:
    token = getattr(request, "auth", None)
    if isinstance(token, Operator):
        return Caller(operator=token.actor)
    if isinstance(token, Token):
        return caller_of_token(token)
    if not request.user.is_authenticated:
        return None
    session = getattr(request, "session", None)
    return Caller(user=request.user, session_key=None if session is None else session.session_key)


def caller_of_token(token: Token) -> Caller:
    """Return the caller with a token from `verify_token`."""
    if isinstance(token, PersonalToken):
        return Caller(user=token.user, personal_token=token)
    assert isinstance(token, ApiToken)  # noqa: S101  # there are no others
    return Caller(token=token)


def access_of_request(request: Any, slug_or_id: str, caller: Caller | None = None) -> Access:
    """Return the caller's access to a workspace: one query for a person, none for a token.

    `caller` is that of the request where it is known.

    Raises NotFound, always the same, for a workspace that is missing, another token's or not the person's.
    """
    caller = caller or caller_of(request)
    if caller is None:
        raise NotFound
    access = caller_access(caller, slug_or_id)
    if caller.token is None:  # else its name is that of the workspace
        record_workspace(request, access.workspace.pk)
    return access


def caller_access(caller: Caller, slug_or_id: str) -> Access:
    """Return `caller`'s access to a workspace by its slug or UUID. Raises NotFound as `access_of_request`."""
    if caller.token is not None:
        return _own_workspace_access(caller, caller.token, slug_or_id)
    if not is_slug(slug_or_id) and parse_uuid(slug_or_id) is None:
        raise NotFound
    if caller.operator is not None:
        with acting_everywhere():
            workspace = first_or_not_found(Workspace.objects.by_slug_or_id(slug_or_id))
        return operator_access(workspace, caller.operator)
    memberships = caller_memberships(caller).filter(workspace__in=Workspace.objects.by_slug_or_id(slug_or_id))
    with acting_everywhere():
        membership = first_or_not_found(memberships)
    return member_access(caller, membership)


def readable_memberships(user: User | None) -> "QuerySet[Membership]":
    """Return a person's memberships as `member_access` needs them, each with its workspace and
    `group_ids`.
    """
    return with_group_ids(Membership.objects.filter(user=user).select_related("workspace"))


def caller_memberships(caller: Caller) -> "QuerySet[Membership]":
    """Return `readable_memberships` of a person, or those alone that their personal token is for."""
    memberships = readable_memberships(caller.user)
    token = caller.personal_token
    if token is None or token.workspace_ids is None:
        return memberships
    return memberships.filter(workspace__in=token.workspace_ids)


def with_group_ids(memberships: "QuerySet[Membership]") -> "QuerySet[Membership]":
    """Annotate each membership with its `group_ids`, in the same query."""
    mine = GroupMember.objects.filter(workspace=OuterRef("workspace"), membership=OuterRef("pk"))
    groups = mine.order_by("group_id")
    return memberships.annotate(group_ids=ArraySubquery(groups.values("group_id")))  # type: ignore[no-redef]  # the model declares it


def member_access(caller: Caller, membership: Any) -> Access:
    """Return the access of a person's membership, one of `readable_memberships`."""
    role = Role(membership.role)
    return Access(
        workspace=membership.workspace,
        caller=caller,
        role=role,
        scopes=_scopes(role, caller.personal_token),
        reader=Reader(groups=frozenset(membership.group_ids), reads_all=role in _READ_ALL),
    )


def _scopes(role: Role, token: PersonalToken | None) -> frozenset[TokenScope]:
    """Return the scopes of a role, those alone that a personal token has too; `administer` is all of them."""
    scopes = _SCOPES_OF_ROLE[role]
    own = scopes if token is None else scopes & frozenset(map(TokenScope, token.scopes))
    return scopes if TokenScope.ADMINISTER in own else own


def caller_accesses(caller: Caller, *, limit: int) -> list[Access]:
    """Return a caller's accesses to their workspaces by slug, `limit` at most; a token's to its own."""
    if caller.token is not None:
        return [token_access(caller, caller.token)]
    with acting_everywhere():
        if caller.operator is not None:
            rows = Workspace.objects.order_by("slug")[:limit]
            return [operator_access(workspace, caller.operator) for workspace in rows]
        memberships = caller_memberships(caller).order_by("workspace__slug")[:limit]
        return [member_access(caller, membership) for membership in memberships]


def token_access(caller: Caller, token: Any) -> Access:
    """Return a token's access to its own workspace; the token comes from `verify_token`."""
    return Access(
        workspace=token.workspace,
        caller=caller,
        role=None,
        scopes=frozenset(TokenScope(scope) for scope in token.scopes),
        reader=Reader(groups=frozenset(token.group_ids)),
    )


def refresh_access(access: Access) -> Access | None:
    """Return the current state of an earlier access; None once it, or its session, has ended.

    One query, and one more for a person's session.
    """
    caller = access.caller
    if caller.operator is not None:
        return access
    with acting_in(access.workspace.pk):
        if caller.token is not None:
            token = readable_tokens().filter(pk=caller.token.pk).first()
            return token_access(Caller(token=token), token) if token is not None and token.is_usable else None
        members = caller_memberships(caller).filter(workspace=access.workspace, user__is_active=True)
        membership = members.select_related("workspace", "user").first()
        if membership is None or not _is_signed_in(caller, membership.user):
            return None
        return member_access(caller, membership)


def _is_signed_in(caller: Caller, user: User) -> bool:
    """Return whether a person's session, or personal token, still holds."""
    if caller.personal_token is None:
        return is_session_valid(caller.session_key, user)
    token = PersonalToken.objects.filter(pk=caller.personal_token.pk).first()
    return token is not None and token.is_usable


def access_by_identity(workspace: Workspace, identity: str) -> Access | None:
    """Return the current access of the caller with this `Caller.identity`; None if it has ended."""
    if identity.startswith(OPERATOR_PREFIX):
        return operator_access(workspace, identity)
    kind, _, key = identity.partition(":")
    with acting_in(workspace.pk):
        if kind == "token":
            token = readable_tokens().filter(workspace=workspace, pk=key).first()
            return token_access(Caller(token=token), token) if token is not None and token.is_usable else None
        if kind == "user":
            members = with_group_ids(Membership.objects.filter(workspace=workspace, user_id=key))
            members = members.filter(user__is_active=True).select_related("workspace", "user")
            membership = members.first()
            return None if membership is None else member_access(Caller(user=membership.user), membership)
    return None


def operator_access(workspace: Workspace, operator: str) -> Access:
    """Return an owner's access for the operator with the actor name `operator`."""
    return Access(
        workspace=workspace,
        caller=Caller(operator=operator),
        role=Role.OWNER,
        scopes=_SCOPES_OF_ROLE[Role.OWNER],
        reader=OPERATOR,
    )


def _own_workspace_access(caller: Caller, token: ApiToken, slug_or_id: str) -> Access:
    workspace = token.workspace
    if slug_or_id != workspace.slug and parse_uuid(slug_or_id) != workspace.pk:
        raise NotFound
    return token_access(caller, token)


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """The least a caller must have: a person the role (or a higher one), a token the scope."""

    role: Role
    #: "any": any scope at all will do.
    scope: TokenScope | Literal["any"]
    #: Whether what it is needed for is narrowed by the filters of a token that has some.
    filters: bool = False
    #: Whether it shows what a token of the workspace may not read: it takes a person, or their token.
    is_personal: bool = False

    def __str__(self) -> str:
        tool = "a personal token" if self.is_personal else "a token"
        scope = "any scope" if self.scope == "any" else f"the scope {self.scope.value}"
        return f"the role {self.role.value}, and of {tool} {scope}"

    def check(self, access: Access) -> None:
        """Raise Forbidden, naming what is missing, unless access is granted.

        Callers know already that the workspace exists.
        """
        if access.role is None:
            if access.token is not None and access.token.filters and not self.filters:
                raise Forbidden(_("This token has filters, so it may only search."))
            if self.is_personal:
                raise Forbidden(_("Only a person may do this, or a tool with a personal token."))
            self._check_scope(access)
        elif access.role.level < self.role.level:
            raise Forbidden(
                _("Needs the role %(needed)s, not %(role)s.")
                % {"needed": self.role.label, "role": access.role.label}
            )
        elif access.caller.personal_token is not None:
            self._check_scope(access)

    def allows(self, access: Access) -> bool:
        """Return whether access is granted."""
        try:
            self.check(access)
        except Forbidden:
            return False
        return True

    def _check_scope(self, access: Access) -> None:
        if self.scope == "any":
            if not access.scopes:
                raise Forbidden(_("This token lacks any scope, so it may do nothing."))
        elif self.scope not in access.scopes:
            raise Forbidden(_("This token lacks the scope %(scope)s.") % {"scope": self.scope.value})


#: For all members, owners and admins, and owners alone, who have signed in or whose tool administers.
MEMBERS, ADMINS, OWNERS = (
    Need(role=role, scope=TokenScope.ADMINISTER, is_personal=True)
    for role in (Role.VIEWER, Role.ADMIN, Role.OWNER)
)
#: For owners and admins, and tokens that manage.
MANAGERS = Need(role=Role.ADMIN, scope=TokenScope.MANAGE)
