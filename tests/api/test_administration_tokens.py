"""Tokens with the scope `administer`: an owner's tools do what they do on the pages, but for signing in."""

import json
import re
import uuid

import pytest
from django.db import transaction
from django.test import Client

from kebab.cli.client.connection import Connection
from kebab.cli.in_process import InProcessTransport
from kebab.exit_codes import Exit
from kebab.identity.models import AuditEvent, Membership, PersonalToken, Role, TokenScope, Workspace
from kebab.identity.tokens import mint_personal_token, mint_token, verify_token
from kebab.people.access_report import operations
from tests.api.refusals import refusal_of
from tests.cli.commands import error_of, run, run_json
from tests.support.actors import bearer_client, make_member, make_person, make_workspace, person_client
from tests.support.api import address

pytestmark = pytest.mark.django_db

_METHODS = {"get", "post", "put", "patch", "delete"}
_OF_OWNERS = [each for each in operations() if each.need.scope == TokenScope.ADMINISTER]


@pytest.fixture
def workspace(mirrors):
    return make_workspace()


@pytest.fixture
def owner(workspace):
    return make_member(workspace, Role.OWNER)


def tool_of(person, **binding):
    return bearer_client(mint_personal_token(person, scopes=[TokenScope.ADMINISTER], **binding)[1])


def place(path, workspace):
    """Return an address of the document with ids that nothing has."""
    numbers = dict.fromkeys(("user_id", "entry_id", "space_id"), "1")
    digests = dict.fromkeys(("doc_id", "chunk_id", "rule_id"), "0" * 32)
    known = {"ws": workspace.slug, "store": workspace.slug, "name": "problem.v1", **numbers, **digests}
    return re.sub(r"\{(\w+)\}", lambda found: known.get(found[1], str(uuid.UUID(int=0))), path)


def send(client, method, path):
    """Return the status of an operation, whose effects are rolled back."""
    with transaction.atomic():
        status = client.generic(method.upper(), path, b"{}", content_type="application/json").status_code
        transaction.set_rollback(True)
    return status


@pytest.mark.slow  # it sends all of them
def test_owners_tool_is_refused_no_operation_of_the_document(workspace, owner, subtests):
    tool = tool_of(owner)
    paths = tool.get("/api/schema/?format=json").json()["paths"]
    sent = [(method, path) for path, methods in paths.items() for method in _METHODS & methods.keys()]
    assert len(sent) > 120
    for method, path in sent:
        with subtests.test(method=method, path=path):
            status = send(tool, method, place(path, workspace))
            assert status not in (401, 403)
            assert status < 500


@pytest.mark.parametrize("role", [*Role, None])
def test_tokens_of_owners_alone_administer(workspace, role, subtests):
    if role is None:
        tool = bearer_client(mint_token(workspace, scopes=TokenScope)[1])
    else:
        tool = bearer_client(mint_personal_token(make_member(workspace, role), scopes=TokenScope)[1])
    assert len(_OF_OWNERS) > 25
    for each in _OF_OWNERS:
        with subtests.test(operation=str(each)):
            status = send(tool, each.method, address(workspace, place(each.route, workspace)))
            assert (status == 403) is (role != Role.OWNER)
    assert (send(tool, "post", "/api/v1/workspaces") == 403) is (role != Role.OWNER)


def test_token_administers_as_long_as_its_person_is_an_owner(workspace, owner):
    make_member(workspace, Role.OWNER)
    tool, mine = tool_of(owner), Membership.objects.filter(user=owner)
    for role, status in [(Role.OWNER, 200), (Role.ADMIN, 403), (Role.VIEWER, 403), (Role.OWNER, 200)]:
        mine.update(role=role)
        assert tool.get(address(workspace, "/members")).status_code == status
    type(owner).objects.filter(pk=owner.pk).update(is_active=False)
    assert tool.get(address(workspace, "/members")).status_code == 401
    type(owner).objects.filter(pk=owner.pk).update(is_active=True)
    mine.delete()
    assert tool.get(address(workspace, "/members")).status_code == 404


def test_token_for_one_workspace_sees_and_changes_no_other(workspace, owner):
    other = make_workspace()
    Membership.objects.create(workspace=other, user=owner, role=Role.OWNER)
    tool = tool_of(owner, workspace_ids=[workspace.pk])
    assert [row["slug"] for row in tool.get("/api/v1/workspaces").json()["results"]] == [workspace.slug]
    for each in _OF_OWNERS:
        assert send(tool, each.method, address(other, place(each.route, other))) == 404
    assert tool.post("/api/v1/workspaces", {"slug": "brand-new"}, format="json").status_code == 403
    assert not Workspace.objects.filter(slug="brand-new").exists()


def test_token_of_an_owner_creates_workspaces_that_they_own(workspace, owner):
    tool = tool_of(owner)
    assert tool.post("/api/v1/workspaces", {"slug": "brand-new"}, format="json").status_code == 201
    assert Membership.objects.get(workspace__slug="brand-new").user == owner
    Membership.objects.filter(user=owner).update(role=Role.ADMIN)
    assert tool.post("/api/v1/workspaces", {"slug": "another"}, format="json").status_code == 403


def test_audit_names_the_person_and_the_token(workspace, owner):
    tool = tool_of(owner)
    tool.post(address(workspace, "/groups"), {"name": "crew"}, format="json")
    tool.post("/api/v1/workspaces", {"slug": "brand-new"}, format="json")
    token = f"kbp_{PersonalToken.objects.get().prefix}"
    found = AuditEvent.objects.filter(action__in=["group.created", "workspace.created"])
    assert [(each.actor, each.detail["token"]) for each in found] == [(owner.email, token)] * 2


def test_only_owners_create_such_tokens_on_the_profile(workspace, owner, subtests):
    fields = {"name": "script", "scopes": ["administer"], "workspace_ids": [str(workspace.pk)]}
    for role in (Role.VIEWER, Role.ADMIN):
        browser = Client()
        browser.force_login(make_member(workspace, role))
        assert browser.post("/profile/tokens", fields).status_code == 400
    assert not PersonalToken.objects.exists()
    browser = Client()
    browser.force_login(owner)
    elsewhere = {**fields, "workspace_ids": [str(make_workspace().pk)]}
    assert browser.post("/profile/tokens", elsewhere).status_code == 400
    secret = browser.post("/profile/tokens", fields).context["secret"]
    assert verify_token(secret).workspace_ids == [workspace.pk]
    assert bearer_client(secret).get(address(workspace, "/tokens")).status_code == 200


def test_api_creates_no_such_token(workspace, owner):
    body = {"scopes": ["administer"], "owner": owner.email}
    for client in (person_client(owner), tool_of(owner)):
        assert client.post(address(workspace, "/tokens"), body, format="json").status_code == 403
        other = client.post(address(workspace, "/tokens"), {**body, "scopes": ["ask"]}, format="json")
        assert refusal_of(other) == (400, "invalid_request", "owner")
    assert PersonalToken.objects.count() == 1


def test_operator_creates_a_token_for_an_owner(workspace, owner):
    create = ("token", "create", "--workspace", workspace.slug, "--scope", "administer", "--owner")
    made = run_json(*create, owner.email.upper(), "--name", "script")
    token = verify_token(made["token"])
    assert (token.user, token.workspace_ids, token.name) == (owner, [workspace.pk], "script")
    event = AuditEvent.objects.get(action="token.created")
    assert event.actor.startswith("operator:")
    assert (event.workspace, event.detail["owner"]) == (workspace, owner.email)
    for email in (make_member(workspace, Role.ADMIN).email, make_person().email):
        assert error_of(*create, email, code=Exit.ERROR)["code"] == "user_unknown"


def test_remote_command_line_administers(workspace, owner, monkeypatch):
    secret = mint_personal_token(owner, scopes=["administer"])[1]
    remote = Connection(transport=InProcessTransport(), token=lambda: secret)
    monkeypatch.setattr("tests.cli.commands.this_process", lambda: remote)
    assert run_json("workspace", "create", "brand-new")["slug"] == "brand-new"
    assert run("workspace", "delete", "brand-new", "--yes")[0] == Exit.DONE
    run_json("token", "create", "--scope", "search", "--name", "bot")
    run_json(
        "api", "POST", "/workspaces/{ws}/invitations", "--data", '{"email": "a@b.example", "role": "viewer"}'
    )
    rule = {"kind": "synonyms", "words": ["car", "lorry"]}
    run_json("api", "POST", "/workspaces/{ws}/rules", "--data", json.dumps(rule))
    hook = {"url": "https://hooks.example.org/kebab", "events": ["job.finished"]}
    run_json("api", "POST", "/workspaces/{ws}/webhooks", "--data", json.dumps(hook))
    assert run_json("list", "members")["results"][0]["email"] == owner.email
    assert run_json("list", "tokens")["results"][0]["created_by"] == owner.email
    assert run_json("list", "invitations")["results"][0]["invited_by"] == owner.email
    assert run_json("list", "rules")["results"][0]["words"] == ["car", "lorry"]
    assert run_json("list", "webhooks")["results"][0]["url"] == hook["url"]
    assert {row["actor"] for row in run_json("list", "audit")["results"]} == {owner.email}


def test_token_lets_nobody_sign_in(workspace, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    operator = make_person()
    type(operator).objects.filter(pk=operator.pk).update(is_superuser=True)
    Membership.objects.create(workspace=workspace, user=operator, role=Role.OWNER)
    invited = {"email": "new@example.org", "role": "viewer"}
    answer = tool_of(operator).post(address(workspace, "/invitations"), invited, format="json")
    assert (answer.status_code, answer.json()["link"]) == (201, None)
    assert tool_of(operator).get("/profile").status_code == 302
