"""The access simulator: what a person or a token can see and do in a workspace, and why.

It has no rules of its own. What the API answers is decided by the `Need` of each view and by the `Reader` of
the caller's access, and these are what it asks; who keeps things that not everybody reads registers here how
it decides about them.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from django.contrib.auth.backends import ModelBackend

from kebab.http.api.errors import Forbidden, InvalidRequest, NotFound
from kebab.http.api.permissions import ADMINS, Need
from kebab.people.access.caller import Access, Caller, access_for
from kebab.people.api_operations import Operation, operations
from kebab.people.models import ApiToken, Group, Role, Scope, Workspace
from kebab.people.reader import Reader

#: The most sources that one report tells of.
MAX_THINGS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """Something one may or may not do."""

    name: str
    means: str
    is_allowed: bool
    why: str
    #: The methods and addresses of the API that it lets through.
    operations: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """A source or a document as it is to somebody."""

    kind: str
    id: str
    #: A source's key, a document's path.
    name: str
    #: Whether it exists for them: in lists, by its id, in jobs and events.
    is_visible: bool
    #: Whether its text is found and read.
    is_searchable: bool
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a report is about."""

    workspace: Workspace
    #: None for who is not let in at all.
    access: Access | None
    #: Why not; empty for who is let in.
    barred: str = ""
    #: Only this document, or this source by key or id; else all sources.
    document: uuid.UUID | None = None
    source: str | None = None

    def refusal(self, need: Need) -> str:
        """Return why the caller is refused what needs `need`; empty when they aren't."""
        is_allowed, why = self.answer(need)
        return "" if is_allowed else why

    def answer(self, need: Need) -> tuple[bool, str]:
        """Return whether the caller may do what needs `need`, and why, or why not."""
        if self.access is None:
            return False, self.barred
        try:
            return True, need.check(self.access)
        except Forbidden as error:
            return False, str(error)

    def refusal_of(self, method: str, route: str) -> str:
        """Return why the caller is refused an operation of the API, like GET `/sources/{source_id}`."""
        for operation in operations():
            if (operation.method, operation.route) == (method, route):
                return self.refusal(operation.need)
        return "There is no such operation."


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessReport:
    """What somebody can see and do in a workspace, and why."""

    workspace: Workspace
    #: An address, or `kbb_` and a token's prefix.
    subject: str
    #: None for a token, and for who is no member.
    role: Role | None
    scopes: tuple[str, ...]
    groups: tuple[Group, ...]
    #: Whether restricted sources are read without being in a group.
    reads_all: bool
    barred: str
    permissions: tuple[Permission, ...]
    things: tuple[Thing, ...]
    #: Whether there are more sources than the report tells of.
    has_more: bool


#: Gives what there is, up to one more than MAX_THINGS, as it is to the caller.
Explainer = Callable[[Asked], Sequence[Thing]]
_explainers: list[Explainer] = []

_NAMED: dict[Need, tuple[str, str]] = {
    Need(role=Role.VIEWER, scope="any"): ("browse", "see sources, versions, jobs and their events"),
    Need(role=Role.VIEWER, scope=Scope.SEARCH): ("search", "search, and read documents"),
    Need(role=Role.VIEWER, scope=Scope.ASK): ("ask", "ask questions"),
    Need(role=Role.EDITOR, scope=Scope.INGEST): ("ingest", "add, change and delete sources and documents"),
    Need(role=Role.ADMIN, scope=Scope.MANAGE): ("manage", "change settings and the embedding model"),
    ADMINS: (
        "members",
        "manage members, groups, invitations and tokens; see audit",
    ),
    Need(role=Role.VIEWER, scope=None): ("leave", "end one's own membership"),
    Need(role=Role.OWNER, scope=None): ("own", "delete the workspace"),
}


def register_explainer(explain: Explainer) -> None:
    """Have `explain` say how things are to a caller."""
    if explain not in _explainers:
        _explainers.append(explain)


def explain_access(
    workspace: Workspace, caller: Caller, *, document: uuid.UUID | None = None, source: str | None = None
) -> AccessReport:
    """Return what `caller` can see and do; a token is one of `readable_tokens`.

    Raises NotFound for a document or source that isn't there, InvalidRequest for both at once.
    """
    if document is not None and source is not None:
        raise InvalidRequest("Give document or source, not both.")
    access, barred = _admitted(workspace, caller)
    asked = Asked(workspace=workspace, access=access, barred=barred, document=document, source=source)
    things = [thing for explain in _explainers for thing in explain(asked)]
    if not things and (document is not None or source is not None):
        raise NotFound(f"There is no such {'source' if document is None else 'document'} here.")
    reader = Reader() if access is None else access.reader
    return AccessReport(
        workspace=workspace,
        subject=caller.actor,
        role=None if access is None else access.role,
        scopes=() if access is None else tuple(sorted(access.scopes)),
        groups=tuple(Group.objects.filter(workspace=workspace, pk__in=reader.groups)),
        reads_all=reader.reads_all,
        barred=barred,
        permissions=tuple(_permissions(asked)),
        things=tuple(things[:MAX_THINGS]),
        has_more=len(things) > MAX_THINGS,
    )


def _admitted(workspace: Workspace, caller: Caller) -> tuple[Access | None, str]:
    """Return the access that a request of `caller` gets, or why it gets none."""
    if caller.user is not None and not ModelBackend().user_can_authenticate(caller.user):
        return None, f"{caller.actor} has been deactivated and can't sign in."
    if caller.token is not None and not caller.token.is_usable:
        return None, f"This token {_end(caller.token)} and opens nothing."
    try:
        return access_for(caller, str(workspace.pk)), ""
    except NotFound:
        return None, f"{caller.actor} doesn't belong to {workspace.slug}, which doesn't exist for them."


def _end(token: ApiToken) -> str:
    if token.revoked_at is not None:
        return f"was revoked on {token.revoked_at:%Y-%m-%d at %H:%M} UTC"
    return f"expired on {token.expires_at:%Y-%m-%d at %H:%M} UTC"


def _permissions(asked: Asked) -> Iterator[Permission]:
    found: dict[Need, list[Operation]] = {need: [] for need in _NAMED}
    for operation in operations():
        found.setdefault(operation.need, []).append(operation)
    for need, allowing in found.items():
        name, means = _NAMED.get(need) or (_unnamed(need), "")
        is_allowed, why = asked.answer(need)
        yield Permission(
            name=name,
            means=means,
            is_allowed=is_allowed,
            why=why,
            operations=tuple(map(str, allowing)),
        )


def _unnamed(need: Need) -> str:
    return f"{need.role.value} or {need.scope or 'no token'}"
