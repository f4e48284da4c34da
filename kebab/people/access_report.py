"""The access report: a person's or token's rights in a workspace, with reasons.

It has no rules of its own: it evaluates the `Need` of each view and the `Reader` of the caller's access, as
the API does. Extensions of apps with restricted items name explainers.
"""

import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from django.contrib.auth.backends import ModelBackend
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kebab.contributions import contributions
from kebab.database.querysets import first_or_not_found
from kebab.errors import Forbidden, InvalidRequest, NotFound
from kebab.identity.caller import ADMINS, MEMBERS, OWNERS, Access, Caller, Need, caller_access
from kebab.identity.models import ApiToken, Group, Role, TokenScope, Workspace
from kebab.identity.reader import Reader
from kebab.identity.tokens import readable_tokens
from kebab.people.members import get_member

_BELOW_WORKSPACE = re.compile(r"\Aapi/v1/workspaces/<str:ws>(?P<route>.*)\Z")
_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one URL below `/workspaces/{ws}`."""

    method: str
    #: As in the OpenAPI document, without the prefix: `/groups/{group_id}`.
    route: str
    need: Need

    def __str__(self) -> str:
        return f"{self.method} {self.route or '/'}"


def operations() -> tuple[Operation, ...]:
    """Return all operations, in the order of the URL table."""
    return _all_operations(get_resolver())


@cache  # a resolver never changes
def _all_operations(resolver: URLResolver) -> tuple[Operation, ...]:
    return tuple(
        each for pattern, route in _walk_views(resolver, "") for each in _operations_of(pattern, route)
    )


def _operations_of(pattern: URLPattern, whole_route: str) -> Iterator[Operation]:
    from kebab.http.api.views import (
        WorkspaceView,  # it imports the REST framework, which most commands never use
    )

    below = _BELOW_WORKSPACE.match(whole_route)
    view = getattr(pattern.callback, "view_class", None)
    if below is None or view is None or not issubclass(view, WorkspaceView):
        return
    route = _PARAMETER.sub(r"{\1}", below["route"])
    for method, need in view.required.items():
        if hasattr(view, method.lower()):
            yield Operation(method=method, route=route, need=need)


def _walk_views(resolver: URLResolver, before: str) -> Iterator[tuple[URLPattern, str]]:
    for pattern in resolver.url_patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield pattern, route
        else:
            yield from _walk_views(pattern, route)


#: The most sources in one report.
MAX_ITEMS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """One right, and whether the caller has it."""

    name: str
    means: str
    is_allowed: bool
    why: str
    #: The API operations it allows: methods and addresses below `/workspaces/{ws}`.
    operations: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemAccess:
    """The visibility of a source or a document to a caller."""

    kind: str
    id: str
    #: A source's key, a document's path.
    name: str
    #: Whether it exists for the caller: in lists, by its id, in jobs and events.
    is_visible: bool
    #: Whether its text can be found and read.
    is_searchable: bool
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest:
    """The caller, workspace and items that a report covers."""

    workspace: Workspace
    #: None if the caller has no access at all.
    access: Access | None
    #: The reason for no access; else empty.
    barred: str = ""
    #: Only this document, or this source by key or id; else all sources.
    document: uuid.UUID | None = None
    source: str | None = None

    def refusal(self, need: Need) -> str:
        """Return the reason why the caller lacks `need`; empty if they have it."""
        is_allowed, why = self.answer(need)
        return "" if is_allowed else why

    def answer(self, need: Need) -> tuple[bool, str]:
        """Return whether the caller has `need`, and the reason."""
        if self.access is None:
            return False, self.barred
        try:
            need.check(self.access)
        except Forbidden as error:
            return False, str(error)
        if self.access.role is None:
            return True, _("The token has the scope %(scope)s.") % {"scope": need.scope}
        return True, _("The role %(role)s includes it.") % {"role": self.access.role.label}

    def operation_refusal(self, method: str, route: str) -> str:
        """Return the reason why the caller may not use an operation like GET `/sources/{source_id}`."""
        for operation in operations():
            if (operation.method, operation.route) == (method, route):
                return self.refusal(operation.need)
        return "There is no such operation."


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedGroup:
    """A group of the caller."""

    id: uuid.UUID
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessReport:
    """A caller's rights in a workspace, with reasons."""

    #: The slug.
    workspace: str
    #: An address, or `kbb_` and a token's prefix.
    subject: str
    #: None for a token, and for a person who is no member.
    role: Role | None
    scopes: tuple[str, ...]
    groups: tuple[NamedGroup, ...]
    #: Whether the caller reads restricted sources without being in a group.
    reads_all: bool
    #: The reason for no access; else empty.
    barred: str
    permissions: tuple[Permission, ...]
    things: tuple[ItemAccess, ...]
    #: Whether there are more sources than the report lists: the first 1,000 by key.
    has_more: bool


#: Returns the items as the caller sees them, up to one more than MAX_ITEMS.
Explainer = Callable[[ReportRequest], Sequence[ItemAccess]]

_NAMES_OF_NEEDS: dict[Need, tuple[str, Promise]] = {
    Need(role=Role.VIEWER, scope="any"): ("browse", gettext_lazy("See sources, versions and activity")),
    Need(role=Role.VIEWER, scope=TokenScope.SEARCH, filters=True): ("find", gettext_lazy("Search")),
    Need(role=Role.VIEWER, scope=TokenScope.SEARCH): ("search", gettext_lazy("Read documents")),
    Need(role=Role.VIEWER, scope=TokenScope.SEARCH, is_personal=True): (
        "save",
        gettext_lazy("Save searches"),
    ),
    Need(role=Role.VIEWER, scope=TokenScope.ASK): ("ask", gettext_lazy("Ask questions")),
    Need(role=Role.EDITOR, scope=TokenScope.INGEST): (
        "ingest",
        gettext_lazy("Add, change and delete sources and documents"),
    ),
    Need(role=Role.ADMIN, scope=TokenScope.MANAGE): (
        "manage",
        gettext_lazy("Change settings and the embedding model"),
    ),
    Need(role=Role.ADMIN, scope=TokenScope.MANAGE, is_personal=True): (
        "rules",
        gettext_lazy("Change search rules"),
    ),
    ADMINS: (
        "members",
        gettext_lazy("Manage members, groups, invitations and tokens; read the audit log"),
    ),
    MEMBERS: ("leave", gettext_lazy("Leave the workspace")),
    OWNERS: ("own", gettext_lazy("Delete the workspace")),
}


def find_caller(
    workspace: Workspace, user_id: int | None = None, token_id: uuid.UUID | None = None
) -> Caller:
    """Return the member or the token of a workspace, as one whose access is reported. Raises NotFound."""
    if user_id is not None:
        return Caller(user=get_member(workspace, user_id).user)
    if token_id is None:
        raise NotFound
    return Caller(token=first_or_not_found(readable_tokens().filter(workspace=workspace, pk=token_id)))


def explain_access(
    workspace: Workspace, caller: Caller, *, document: uuid.UUID | None = None, source: str | None = None
) -> AccessReport:
    """Return the report on the rights of `caller`; a token is one of `readable_tokens`.

    Raises NotFound for a document or source that doesn't exist, InvalidRequest if both are given.
    """
    if document is not None and source is not None:
        raise InvalidRequest("Give document or source, not both.")
    access, barred = _admit(workspace, caller)
    request = ReportRequest(
        workspace=workspace, access=access, barred=barred, document=document, source=source
    )
    things = [thing for explain in contributions("access_explainers") for thing in explain(request)]
    if not things and (document is not None or source is not None):
        raise NotFound(f"There is no such {'source' if document is None else 'document'} here.")
    reader = Reader() if access is None else access.reader
    groups = Group.objects.filter(workspace=workspace, pk__in=reader.groups).values_list("pk", "name")
    return AccessReport(
        workspace=workspace.slug,
        subject=caller.actor,
        role=None if access is None else access.role,
        scopes=() if access is None else tuple(sorted(access.scopes)),
        groups=tuple(NamedGroup(id=id_, name=name) for id_, name in groups),
        reads_all=reader.reads_all,
        barred=barred,
        permissions=tuple(_permissions(request)),
        things=tuple(things[:MAX_ITEMS]),
        has_more=len(things) > MAX_ITEMS,
    )


def _admit(workspace: Workspace, caller: Caller) -> tuple[Access | None, str]:
    """Return the access of `caller` and an empty string, or None and the reason."""
    if caller.user is not None and not ModelBackend().user_can_authenticate(caller.user):
        return None, _("%(who)s has been deactivated and can't sign in.") % {"who": caller.actor}
    if caller.token is not None and not caller.token.is_usable:
        return None, _describe_end(caller.token)
    try:
        return caller_access(caller, str(workspace.pk)), ""
    except NotFound:
        return None, _("%(who)s is not a member of this workspace.") % {"who": caller.actor}


def _describe_end(token: ApiToken) -> str:
    end = token.revoked_at or token.expires_at
    text = (
        _("This token was revoked on %(end)s.") if token.revoked_at else _("This token expired on %(end)s.")
    )
    return text % {"end": date_format(localtime(end), "SHORT_DATETIME_FORMAT")}


def _permissions(request: ReportRequest) -> Iterator[Permission]:
    found: dict[Need, list[Operation]] = {need: [] for need in _NAMES_OF_NEEDS}
    for operation in operations():
        found.setdefault(operation.need, []).append(operation)
    for need, allowing in found.items():
        name, means = _NAMES_OF_NEEDS.get(need) or (str(need), "")
        is_allowed, why = request.answer(need)
        yield Permission(
            name=name,
            means=str(means),
            is_allowed=is_allowed,
            why=why,
            operations=tuple(map(str, allowing)),
        )
