"""Only a workspace's admins access its people, groups, tokens, invitations and audit log."""

import uuid

import pytest

from kebab.identity.models import ApiToken, Group, GroupMember, Invitation, Membership, Role
from kebab.identity.tokens import mint_token
from kebab.people.groups import create_group
from kebab.people.invitations import invite
from kebab.people.operator import command_line_access
from tests.support.actors import make_member, member_client, token_client

INVITED = {"email": "ada@example.org", "role": "viewer"}
#: Method, address below a workspace, and fields of every request about people.
REQUESTS = [
    ("get", "audit", None),
    ("get", "access?user={user}", None),
    ("get", "access?token={token}", None),
    ("get", "members", None),
    ("post", "members", INVITED),
    ("patch", "members/{user}", {"role": "viewer"}),
    ("delete", "members/{user}", None),
    ("get", "groups", None),
    ("post", "groups", {"name": "mine"}),
    ("get", "groups/{group}", None),
    ("patch", "groups/{group}", {"name": "x"}),
    ("delete", "groups/{group}", None),
    ("put", "groups/{group}/members/{user}", None),
    ("delete", "groups/{group}/members/{user}", None),
    ("get", "invitations", None),
    ("post", "invitations", INVITED),
    ("delete", "invitations/{invitation}", None),
    ("get", "tokens", None),
    ("post", "tokens", {"scopes": ["search"]}),
    ("get", "tokens/{token}", None),
    ("delete", "tokens/{token}", None),
    ("post", "tokens/{token}/rotate", {}),
]
LISTS = [tail for method, tail, _ in REQUESTS if method == "get" and "{" not in tail]


def make_things(workspace):
    """Make one thing of each kind and return their ids."""
    operator = command_line_access(workspace)
    return {
        "user": make_member(workspace).pk,
        "group": create_group(operator, "staff").pk,
        "token": mint_token(workspace, scopes=["search"])[0].pk,
        "invitation": invite(operator, INVITED["email"], Role.VIEWER).invitation.pk,
    }


def send(client, workspace, request, ids):
    method, tail, fields = request
    body = {} if fields is None else {"data": fields, "format": "json"}
    return getattr(client, method)(f"/api/v1/workspaces/{workspace.slug}/{tail.format(**ids)}", **body)


@pytest.mark.parametrize(
    "make_client",
    [
        lambda workspace: member_client(workspace, Role.EDITOR),
        member_client,
        lambda workspace: token_client(workspace, "search", "ingest", "manage", "ask"),
    ],
    ids=["editor", "viewer", "token with every scope"],
)
def test_only_admins_and_owners_manage_people(workspace, subtests, make_client):
    ids, client = make_things(workspace), make_client(workspace)
    for request in REQUESTS:
        with subtests.test(request=request):
            assert send(client, workspace, request, ids).status_code == 403
    for client in (member_client(workspace, Role.ADMIN), member_client(workspace, Role.OWNER)):
        assert {send(client, workspace, ("get", tail, None), ids).status_code for tail in LISTS} == {200}


def rows_of(workspace):
    models = (Membership, Group, GroupMember, ApiToken, Invitation)
    return [list(model.objects.filter(workspace=workspace).order_by("pk").values()) for model in models]


def test_objects_of_another_workspace_are_answered_like_missing_ones(
    admin, workspace, other_workspace, subtests
):
    theirs, ours = make_things(other_workspace), make_things(workspace)
    before = rows_of(other_workspace)
    missing = {**dict.fromkeys(theirs, uuid.uuid4()), "user": 999_999_999}
    for request in REQUESTS:
        for name in (name for name in theirs if f"{{{name}}}" in request[1]):
            with subtests.test(request=request, foreign=name):
                foreign, none = (
                    send(admin, workspace, request, {**ours, name: ids[name]}) for ids in (theirs, missing)
                )
                assert foreign.status_code == 404
                assert foreign.content == none.content
    for tail in LISTS:
        with subtests.test(list=tail):
            rows = send(admin, workspace, ("get", tail, None), {}).json()["results"]
            shown = {str(row.get("id", row.get("user_id"))) for row in rows}
            assert shown.isdisjoint(map(str, theirs.values()))
    assert rows_of(other_workspace) == before


@pytest.mark.parametrize(("tail", "fields"), [("tokens", {"scopes": ["search"]}), ("invitations", INVITED)])
def test_group_of_another_workspace_is_as_unknown_as_a_missing_one(
    admin, workspace, other_workspace, tail, fields
):
    answers = []
    for group_id in (create_group(command_line_access(other_workspace), "staff").pk, uuid.uuid4()):
        response = send(admin, workspace, ("post", tail, {**fields, "groups": [str(group_id)]}), {})
        assert (response.status_code, response.json()["code"]) == (422, "unknown_group")
        answers.append(response.content.replace(str(group_id).encode(), b"ID"))
    assert answers[0] == answers[1]
    assert not workspace.tokens.exists() and not workspace.invitations.exists()
