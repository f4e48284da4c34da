import re
from datetime import datetime, timedelta

from django.utils import timezone

from kebab.identity import tokens
from kebab.identity.models import ApiToken, AuditEvent, TokenGroup
from kebab.identity.tokens import mint_token, readable_tokens, verify_token
from tests.integration.kebab.people.token_requests import make, path
from tests.support.actors import bearer_client


def test_secret_is_shown_once_and_never_stored(admin, workspace):
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


def test_new_token_has_just_the_rights_of_its_scopes(admin, workspace):
    client = bearer_client(make(admin, workspace, scopes=["search", "search"]).json()["token"])
    assert client.get(f"/api/v1/workspaces/{workspace.slug}/notes").status_code == 200
    assert client.post(f"/api/v1/workspaces/{workspace.slug}/notes", {}, format="json").status_code == 403


def test_wrong_fields_are_refused(admin, workspace, subtests):
    for fields in (
        {"scopes": ["everything"]},
        {"scopes": "search"},
        {"expires_in_days": 0},
        {"expires_at": "2001-01-01T00:00:00Z"},
        {"expires_at": "2101-01-01T00:00:00Z", "expires_in_days": 3},
        {"workspace": "other"},
    ):
        with subtests.test(fields=fields):
            assert make(admin, workspace, **fields).status_code == 400
    assert not ApiToken.objects.exists()


def test_expiry_is_given_in_days_or_as_a_time(admin, workspace):
    days = datetime.fromisoformat(make(admin, workspace, expires_in_days=30).json()["expires_at"])
    at = make(admin, workspace, expires_at="2101-01-01T00:00:00Z").json()["expires_at"]
    assert timedelta(days=29) < days - timezone.now() <= timedelta(days=30)
    assert at == "2101-01-01T00:00:00Z"


def test_expired_or_revoked_token_is_401(admin, workspace):
    def expire(made):
        ApiToken.objects.filter(id=made["id"]).update(expires_at=timezone.now() - timedelta(seconds=1))

    def revoke_twice(made):
        assert admin.delete(path(workspace, made["id"])).status_code == 204
        revoked_at = ApiToken.objects.get(id=made["id"]).revoked_at
        assert admin.delete(path(workspace, made["id"])).status_code == 204
        assert ApiToken.objects.get(id=made["id"]).revoked_at == revoked_at
        assert AuditEvent.objects.filter(action="token.revoked").count() == 1

    for end in (expire, revoke_twice):
        made = make(admin, workspace).json()
        client = bearer_client(made["token"])
        assert client.get("/api/v1/workspaces").status_code == 200
        end(made)
        response = client.get("/api/v1/workspaces")
        assert (response.status_code, response.json()["code"]) == (401, "invalid_token")


def test_last_use_is_recorded_at_most_once_a_minute(workspace):
    token, secret = mint_token(workspace, scopes=["search"])
    client = bearer_client(secret)
    unused = readable_tokens().get(pk=token.pk)

    def use():
        client.get("/api/v1/workspaces")
        return ApiToken.objects.get(pk=token.pk).last_used_at

    first = use()
    assert first is not None
    assert use() == first
    tokens._record_use(unused)  # of a request that read the token before the first use was recorded
    assert ApiToken.objects.get(pk=token.pk).last_used_at == first
    earlier = first - timedelta(seconds=61)
    ApiToken.objects.filter(pk=token.pk).update(last_used_at=earlier)
    assert use() > earlier


def test_token_has_the_groups_it_is_given_and_no_others(admin, workspace, group):
    made = make(admin, workspace, groups=[str(group.pk), str(group.pk)]).json()
    assert made["groups"] == [str(group.pk)]
    assert [row["groups"] for row in admin.get(path(workspace)).json()["results"]] == [[str(group.pk)]]
    assert admin.get(path(workspace, made["id"])).json()["groups"] == [str(group.pk)]
    assert verify_token(made["token"]).group_ids == [group.pk]
    assert AuditEvent.objects.get(action="token.created").detail["groups"] == ["staff"]

    other = make(admin, workspace, scopes=["manage"]).json()
    assert other["groups"] == []
    assert verify_token(other["token"]).group_ids == []
    assert TokenGroup.objects.count() == 1
