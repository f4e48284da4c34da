"""Personal tokens: a person's tools act for them in all of their workspaces, within the token's scopes."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from kebab.identity.caller import caller_of_token, member_access, readable_memberships, refresh_access
from kebab.identity.models import AuditEvent, Membership, PersonalToken, Role
from kebab.identity.tokens import mint_personal_token, verify_token
from kebab.tenancy.current_workspace import acting_everywhere
from tests.support.actors import bearer_client, make_person, make_workspace
from tests.support.api import address

pytestmark = pytest.mark.django_db


@pytest.fixture
def person():
    return make_person("ada@example.org")


def join(person, role=Role.VIEWER):
    workspace = make_workspace()
    Membership.objects.create(workspace=workspace, user=person, role=role)
    return workspace


def tool_of(person, *scopes):
    return bearer_client(mint_personal_token(person, scopes=scopes)[1])


def test_personal_token_sees_only_workspaces_of_its_owner(person):
    mine, foreign = sorted([join(person).slug, join(person).slug]), make_workspace()
    tool = tool_of(person, "search")
    assert [row["slug"] for row in tool.get("/api/v1/workspaces").json()["results"]] == mine
    assert tool.get(address(foreign, "")).status_code == 404


@pytest.mark.parametrize(
    ("role", "scopes", "method", "tail", "status"),
    [
        (Role.VIEWER, ("search",), "get", "/documents", 200),
        (Role.VIEWER, ("ask",), "get", "/documents", 403),
        (Role.VIEWER, ("search", "ingest"), "post", "/documents/bulk", 403),
        (Role.EDITOR, ("search",), "post", "/documents/bulk", 403),
        (Role.EDITOR, ("ingest",), "post", "/documents/bulk", 400),
        (Role.ADMIN, ("manage",), "get", "/analytics", 200),
        (Role.VIEWER, ("manage",), "get", "/analytics", 403),
        (Role.OWNER, ("manage",), "get", "/tokens", 403),
        (Role.OWNER, ("manage",), "delete", "", 403),
        (Role.OWNER, (), "get", "", 403),
    ],
)
def test_right_is_needed_from_the_role_and_from_the_scopes(person, role, scopes, method, tail, status):
    workspace = join(person, role)
    answer = getattr(tool_of(person, *scopes), method)(address(workspace, tail), format="json")
    assert answer.status_code == status, answer.content


def test_token_creates_no_workspace(person):
    tool = tool_of(person, "manage")
    assert tool.post("/api/v1/workspaces", {"slug": "brand-new"}, format="json").status_code == 403


def test_access_ends_with_the_membership_the_token_and_the_account(person):
    workspace = join(person)
    token, secret = mint_personal_token(person, scopes=["search"])
    with acting_everywhere():
        access = member_access(caller_of_token(token), readable_memberships(person).get())
    assert refresh_access(access).scopes == {"search"}
    PersonalToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert (refresh_access(access), verify_token(secret)) == (None, None)
    PersonalToken.objects.update(expires_at=None)
    assert verify_token(secret).user == person
    Membership.objects.filter(workspace=workspace).delete()
    assert refresh_access(access) is None
    person.is_active = False
    person.save()
    assert verify_token(secret) is None


def test_person_creates_and_revokes_tokens_on_the_profile(person):
    browser = Client()
    browser.force_login(person)
    made = browser.post("/profile/tokens", {"name": "editor", "scopes": ["search"], "expires_in_days": "30"})
    token = PersonalToken.objects.get()
    secret = made.context["secret"]
    assert (token.user, token.name, token.scopes) == (person, "editor", ["search"])
    assert secret in made.content.decode()
    assert verify_token(secret).pk == token.pk
    assert secret not in browser.get("/profile").content.decode()
    other = Client()
    other.force_login(make_person())
    revocation = f"/profile/tokens/{token.pk}/revoke"
    assert other.post(revocation).status_code == 404
    assert verify_token(secret) is not None
    assert browser.post(revocation).url == "/profile"
    assert verify_token(secret) is None
    actions = AuditEvent.objects.filter(actor="ada@example.org").order_by("at")
    assert list(actions.values_list("action", "subject")) == [
        ("token.created", f"kbp_{token.prefix}"),
        ("token.revoked", f"kbp_{token.prefix}"),
    ]


def test_token_without_permission_is_not_made(person):
    browser = Client()
    browser.force_login(person)
    assert browser.post("/profile/tokens", {"name": "editor"}).status_code == 400
    assert not PersonalToken.objects.exists()
