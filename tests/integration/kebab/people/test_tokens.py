import re
from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from kebab.people import tokens
from kebab.people.models import ApiToken, AuditEvent, Role, TokenGroup
from kebab.people.tokens import mint_token, readable_tokens, verify_token
from kebab.tenancy.owner import owner_connection
from tests.integration.kebab.people.token_requests import make, path, rotate
from tests.support.actors import bearer_client, member_client, token_client


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

    for end in (expire, lambda made: admin.delete(path(workspace, made["id"]))):
        made = make(admin, workspace).json()
        client = bearer_client(made["token"])
        assert client.get("/api/v1/workspaces").status_code == 200
        end(made)
        response = client.get("/api/v1/workspaces")
        assert (response.status_code, response.json()["code"]) == (401, "invalid_token")


def test_second_revocation_changes_nothing(admin, workspace):
    made = make(admin, workspace).json()
    assert admin.delete(path(workspace, made["id"])).status_code == 204
    revoked_at = ApiToken.objects.get().revoked_at
    assert admin.delete(path(workspace, made["id"])).status_code == 204
    assert ApiToken.objects.get().revoked_at == revoked_at
    assert AuditEvent.objects.filter(action="token.revoked").count() == 1


def test_foreign_token_cannot_be_seen_revoked_or_rotated(admin, workspace, other_workspace):
    foreign, secret = mint_token(other_workspace, scopes=["search"])
    for act in (
        lambda token_id: admin.get(path(workspace, token_id)),
        lambda token_id: admin.delete(path(workspace, token_id)),
        lambda token_id: rotate(admin, workspace, token_id),
    ):
        missing = act("00000000-0000-0000-0000-000000000000")
        assert missing.status_code == 404
        assert act(foreign.pk).content == missing.content
    assert verify_token(secret) is not None
    assert admin.get(path(workspace)).json()["results"] == []


def test_only_admins_and_owners_manage_tokens(workspace):
    token, _ = mint_token(workspace, scopes=["search"])
    every_scope = token_client(workspace, "search", "ingest", "manage", "ask")
    for client in (every_scope, member_client(workspace, Role.EDITOR), member_client(workspace)):
        assert client.get(path(workspace)).status_code == 403
        assert make(client, workspace).status_code == 403
        assert rotate(client, workspace, token.pk).status_code == 403
        assert client.delete(path(workspace, token.pk)).status_code == 403


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
    tokens._note_use(unused)  # of a request that read the token before the first use was recorded
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


def test_foreign_group_is_as_unknown_as_a_missing_one(admin, workspace, foreign_and_missing_group):
    answers = []
    for group_id in foreign_and_missing_group:
        response = make(admin, workspace, groups=[str(group_id)])
        assert (response.status_code, response.json()["code"]) == (422, "unknown_group")
        answers.append(response.content.replace(str(group_id).encode(), b"ID"))
    assert answers[0] == answers[1]
    assert not ApiToken.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_verification_is_one_query_by_a_unique_index_and_none_for_a_malformed_token(
    workspace, group, settings
):
    settings.KEBAB_PLAN_ONCE = False  # so that the query is seen as it is
    _, secret = mint_token(workspace, scopes=["search"], groups=[group])
    others = [ApiToken(workspace=workspace, prefix=f"p{n:011}", secret_sha256=b"") for n in range(2_000)]
    ApiToken.objects.bulk_create(others)  # so many that no plan would read all of them
    with owner_connection() as owner:  # whatever statistics other tests have left
        owner.execute("ANALYZE people_apitoken, people_workspace")
    verify_token(secret)  # which records the last use
    with CaptureQueriesContext(connection) as queries:
        assert verify_token(secret) is not None
    (statement,) = statements(queries)
    assert statement.startswith("SELECT")
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {statement}")
        plan = str(cursor.fetchall())
    assert "people_apitoken_prefix" in plan, plan

    with CaptureQueriesContext(connection) as queries:
        for wrong in ("", "kbb_", secret[:-1], secret + "x", secret.upper(), "Bearer " + secret, "kbb_é"):
            assert verify_token(wrong) is None
    assert statements(queries) == []
    with CaptureQueriesContext(connection) as queries:
        assert verify_token(secret[:-1] + ("A" if secret[-1] != "A" else "B")) is None
    assert len(statements(queries)) == 1


def statements(queries):
    """Return the statements on tables of people, without the settings that precede them."""
    whole = [query["sql"].rpartition(";")[2].strip() or query["sql"] for query in queries.captured_queries]
    return [each for each in whole if "people_" in each]
