"""Tokens over HTTP, and what is kept of them."""

import re
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from kebab.api.models import IdempotencyKey
from kebab.people.models import ApiToken, AuditEvent, Role
from kebab.people.tokens import mint_token, verify_token
from tests.support.actors import bearer_client, member_client, token_client


def path(workspace, token_id=None):
    return f"/api/v1/workspaces/{workspace.slug}/tokens" + (f"/{token_id}" if token_id else "")


@pytest.fixture
def admin(workspace):
    return member_client(workspace, Role.ADMIN)


def make(client, workspace, /, **fields):
    return client.post(path(workspace), {"scopes": ["search"], **fields}, format="json")


def test_the_secret_is_shown_once_and_never_stored(admin, workspace):
    response = make(admin, workspace, name="ci")
    body = response.json()
    secret = body["token"].split("_", 2)[2]

    assert response.status_code == 201
    assert re.fullmatch(r"kbb_[a-z2-7]{12}_[\w-]{43}", body["token"])
    assert response.headers["Cache-Control"] == "no-store"
    assert secret not in str(ApiToken.objects.values().get())
    assert secret not in str(AuditEvent.objects.values().get())
    for later in (admin.get(path(workspace)), admin.get(path(workspace, body["id"]))):
        assert later.status_code == 200
        assert secret not in later.content.decode()
        assert "sha256" not in later.content.decode()


def test_an_answer_that_is_repeated_does_not_repeat_the_secret(admin, workspace):
    headers = {"Idempotency-Key": "k"}
    first = admin.post(path(workspace), {"scopes": ["search"]}, format="json", headers=headers).json()
    again = admin.post(path(workspace), {"scopes": ["search"]}, format="json", headers=headers).json()

    assert again["id"] == first["id"]
    assert again["token"] is None
    assert first["token"] not in str(IdempotencyKey.objects.values().get())
    assert ApiToken.objects.count() == 1


def test_a_new_token_does_what_its_scopes_say(admin, workspace):
    client = bearer_client(make(admin, workspace, scopes=["search", "search"]).json()["token"])

    assert client.get(f"/api/v1/workspaces/{workspace.slug}/notes").status_code == 200
    assert client.post(f"/api/v1/workspaces/{workspace.slug}/notes", {}, format="json").status_code == 403


@pytest.mark.parametrize(
    "fields",
    [
        {"scopes": ["everything"]},
        {"scopes": "search"},
        {"expires_in_days": 0},
        {"expires_at": "2001-01-01T00:00:00Z"},
        {"expires_at": "2101-01-01T00:00:00Z", "expires_in_days": 3},
        {"workspace": "other"},
    ],
)
def test_a_wrong_wish_is_refused(admin, workspace, fields):
    assert make(admin, workspace, **fields).status_code == 400
    assert not ApiToken.objects.exists()


def test_an_expiry_is_given_in_days_or_as_a_time(admin, workspace):
    days = datetime.fromisoformat(make(admin, workspace, expires_in_days=30).json()["expires_at"])
    at = make(admin, workspace, expires_at="2101-01-01T00:00:00Z").json()["expires_at"]

    assert timedelta(days=29) < days - timezone.now() <= timedelta(days=30)
    assert at == "2101-01-01T00:00:00Z"


def test_a_token_that_expired_or_was_revoked_is_401(admin, workspace):
    for end in (lambda made: expire(made), lambda made: admin.delete(path(workspace, made["id"]))):
        made = make(admin, workspace).json()
        client = bearer_client(made["token"])
        assert client.get("/api/v1/workspaces").status_code == 200
        end(made)
        response = client.get("/api/v1/workspaces")
        assert (response.status_code, response.json()["code"]) == (401, "invalid_token")


def expire(made):
    ApiToken.objects.filter(id=made["id"]).update(expires_at=timezone.now() - timedelta(seconds=1))


def test_revoking_twice_is_one_act(admin, workspace):
    made = make(admin, workspace).json()

    assert admin.delete(path(workspace, made["id"])).status_code == 204
    revoked_at = ApiToken.objects.get().revoked_at
    assert admin.delete(path(workspace, made["id"])).status_code == 204
    assert ApiToken.objects.get().revoked_at == revoked_at
    assert AuditEvent.objects.filter(action="token.revoked").count() == 1


def test_a_token_of_another_workspace_cannot_be_seen_or_revoked(admin, workspace, other_workspace):
    foreign, secret = mint_token(other_workspace, scopes=["search"])
    missing = admin.get(path(workspace, "00000000-0000-0000-0000-000000000000"))

    assert admin.get(path(workspace, foreign.pk)).content == missing.content
    assert admin.delete(path(workspace, foreign.pk)).status_code == 404
    assert verify_token(secret) is not None
    assert admin.get(path(workspace)).json()["results"] == []


def test_tokens_and_editors_may_not_manage_tokens(workspace):
    for client in (token_client(workspace, "manage"), member_client(workspace, Role.EDITOR)):
        assert client.get(path(workspace)).status_code == 403
        assert make(client, workspace).status_code == 403


def test_the_last_use_is_written_at_most_once_a_minute(workspace):
    token, secret = mint_token(workspace, scopes=["search"])
    client = bearer_client(secret)

    def use():
        client.get("/api/v1/workspaces")
        return ApiToken.objects.get(pk=token.pk).last_used_at

    first = use()
    assert first is not None
    assert use() == first
    earlier = first - timedelta(seconds=61)
    ApiToken.objects.filter(pk=token.pk).update(last_used_at=earlier)
    assert use() > earlier
