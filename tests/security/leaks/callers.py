"""Callers: all who must see nothing, and those who may, as a control of the matrix."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone
from rest_framework.test import APIClient

from kebab.identity.models import ApiToken, Membership, Role, TokenScope, User
from kebab.identity.tokens import mint_personal_token, mint_token
from kebab.people.token_lifecycle import mark_revoked
from tests.security.leaks.canaries import CLOSED, THEIRS
from tests.security.leaks.stage import Stage, join_group

_BOTH = frozenset({THEIRS, CLOSED})
_ONLY_THEIRS = frozenset({THEIRS})
_ONLY_CLOSED = frozenset({CLOSED})
#: Callers without valid credentials. If others joined them, as after a request that signs out, the matrix
#: would show nothing.
UNKNOWN = frozenset({"nobody", "expired token", "revoked token"})


@dataclass(frozen=True, kw_only=True)
class Caller:
    """A sender of requests."""

    name: str
    client: APIClient
    #: The stems of objects that are hidden from this caller.
    hostile_to: frozenset[str]


def make_callers(stage: Stage) -> Mapping[str, Caller]:
    """Return all callers by name, signed in where they have a session."""
    found = (*_people(stage), *_tools(stage))
    return {caller.name: caller for caller in found}


def _people(stage: Stage) -> list[Caller]:
    operator = _person("operator", stage)
    User.objects.filter(pk=operator.pk).update(is_staff=True, is_superuser=True)
    owner_of_theirs = _person("their owner", stage)
    Membership.objects.create(workspace=stage.theirs, user=owner_of_theirs, role=Role.OWNER)
    return [
        Caller(name="nobody", client=APIClient(), hostile_to=_BOTH),
        Caller(name="stranger", client=session_client(_person("stranger", stage)), hostile_to=_BOTH),
        Caller(name="operator", client=session_client(operator), hostile_to=_BOTH),
        Caller(name="viewer", client=session_client(_member("viewer", stage, Role.VIEWER)), hostile_to=_BOTH),
        Caller(name="editor", client=session_client(_member("editor", stage, Role.EDITOR)), hostile_to=_BOTH),
        Caller(name="reader", client=session_client(_reader(stage)), hostile_to=_ONLY_THEIRS),
        Caller(
            name="owner", client=session_client(_member("owner", stage, Role.OWNER)), hostile_to=_ONLY_THEIRS
        ),
        Caller(name="their owner", client=session_client(owner_of_theirs), hostile_to=_ONLY_CLOSED),
        Caller(name="viewer's tool", client=_tool(_member("tooled", stage, Role.VIEWER)), hostile_to=_BOTH),
        Caller(name="viewer's app", client=_app(stage, Role.VIEWER), hostile_to=_BOTH),
        Caller(name="owner's app", client=_app(stage, Role.OWNER), hostile_to=_ONLY_THEIRS),
    ]


def _tools(stage: Stage) -> list[Caller]:
    expired, expired_client = _token(stage, *TokenScope)
    join_group(stage.group, token=expired)
    ApiToken.objects.filter(pk=expired.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    revoked, revoked_client = _token(stage, *TokenScope)
    join_group(stage.group, token=revoked)
    mark_revoked(revoked)
    inside, inside_client = _token(stage, *TokenScope)
    join_group(stage.group, token=inside)
    return [
        *(_with_one_scope(stage, scope) for scope in (None, *TokenScope)),
        Caller(name="token", client=_token(stage, *TokenScope)[1], hostile_to=_BOTH),
        Caller(name="expired token", client=expired_client, hostile_to=_BOTH),
        Caller(name="revoked token", client=revoked_client, hostile_to=_BOTH),
        Caller(
            name="token of elsewhere", client=_token(stage, *TokenScope, of=stage.twin)[1], hostile_to=_BOTH
        ),
        Caller(name="token in the group", client=inside_client, hostile_to=_ONLY_THEIRS),
        Caller(
            name="their token", client=_token(stage, *TokenScope, of=stage.theirs)[1], hostile_to=_ONLY_CLOSED
        ),
    ]


def _with_one_scope(stage: Stage, scope: TokenScope | None) -> Caller:
    """Return a token in the group, whose scope limits it also for sources that it may read."""
    token, client = _token(stage, *(() if scope is None else (scope,)))
    join_group(stage.group, token=token)
    return Caller(
        name=name_of_scope(scope), client=client, hostile_to=_BOTH if scope is None else _ONLY_THEIRS
    )


def name_of_scope(scope: TokenScope | None) -> str:
    """Return the name of the caller that has this scope alone, or none."""
    return "token without scope" if scope is None else f"token to {scope.value}"


def rejected_callers(callers: Mapping[str, Caller]) -> set[str]:
    """Return the names of the callers that the API rejects."""
    return {
        name for name, caller in callers.items() if caller.client.get("/api/v1/workspaces").status_code == 401
    }


def session_client(user: User) -> APIClient:
    """Return a client with a session of the person."""
    client = APIClient(raise_request_exception=False)
    client.force_login(user)
    return client


def _tool(user: User, **binding: Any) -> APIClient:
    """Return a client with a personal token of all scopes."""
    client = APIClient(raise_request_exception=False)
    _, secret = mint_personal_token(user, scopes=TokenScope, **binding)
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client


def _app(stage: Stage, role: Role) -> APIClient:
    """Return a client with a token for one workspace, of a person who owns the other one, too."""
    user = _member(f"connected {role}", stage, role)
    Membership.objects.create(workspace=stage.theirs, user=user, role=Role.OWNER)
    return _tool(user, workspace_ids=[stage.ours.pk])


def _person(name: str, stage: Stage) -> User:
    return User.objects.create_user(f"{name.replace(' ', '-')}-{stage.ours.slug}@example.net")


def _member(name: str, stage: Stage, role: Role) -> User:
    user = _person(name, stage)
    Membership.objects.create(workspace=stage.ours, user=user, role=role)
    return user


def _reader(stage: Stage) -> User:
    user = _member("reader", stage, Role.VIEWER)
    join_group(stage.group, member=Membership.objects.get(user=user))
    return user


def _token(stage: Stage, *scopes: TokenScope, of: Any = None) -> tuple[ApiToken, APIClient]:
    token, secret = mint_token(stage.ours if of is None else of, scopes=scopes)
    client = APIClient(raise_request_exception=False)
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return token, client


def twin_viewer(stage: Stage) -> APIClient:
    """Return a viewer of the workspace that never had the restricted source."""
    user = _person("twin viewer", stage)
    Membership.objects.create(workspace=stage.twin, user=user, role=Role.VIEWER)
    return session_client(user)
