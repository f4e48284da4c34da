"""Tokens that are replaced, tokens in groups, and where no secret of one ever stands."""

import io
import json
import logging
import uuid
from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from kebab.api.models import IdempotencyKey
from kebab.people import tokens
from kebab.people.groups import create_group
from kebab.people.models import ApiToken, AuditEvent, Role, TokenGroup
from kebab.people.operator import the_operator
from kebab.people.tokens import mint_token, readable_tokens, verify_token
from kebab.tenancy.owner import owner_connection
from tests.support.actors import bearer_client, member_client, token_client


def path(workspace, token_id=None, tail=""):
    return f"/api/v1/workspaces/{workspace.slug}/tokens" + (f"/{token_id}{tail}" if token_id else "")


def rotate(client, workspace, token_id, **fields):
    return client.post(path(workspace, token_id, "/rotate"), fields, format="json")


@pytest.fixture
def admin(workspace):
    return member_client(workspace, Role.ADMIN)


@pytest.fixture
def group(workspace):
    return create_group(the_operator(workspace), "staff")


@pytest.fixture
def old(workspace, group):
    """A token with everything that a new one takes over, and its secret form."""
    ends_at = timezone.now() + timedelta(days=30)
    return mint_token(workspace, scopes=["search", "ask"], name="ci", groups=[group], expires_at=ends_at)


def test_the_new_token_is_like_the_old_one_which_ends_at_once(admin, workspace, old, group):
    token, secret = old
    response = rotate(admin, workspace, token.pk)
    body = response.json()

    assert (response.status_code, response.headers["Cache-Control"]) == (201, "no-store")
    assert (body["name"], body["scopes"], body["groups"]) == ("ci", ["ask", "search"], [str(group.pk)])
    assert datetime.fromisoformat(body["expires_at"]) == token.expires_at
    assert verify_token(secret) is None
    assert verify_token(body["token"]).group_ids == [group.pk]
    event = AuditEvent.objects.get(action="token.rotated")
    assert event.subject == f"kbb_{token.prefix}"
    assert event.detail["replaced_by"] == f"kbb_{body['prefix']}"


def test_with_an_overlap_both_work_until_the_old_one_ends(admin, workspace, old):
    token, secret = old
    body = rotate(admin, workspace, token.pk, overlap_minutes=60).json()

    assert verify_token(secret) == token
    assert verify_token(body["token"]) is not None
    token.refresh_from_db()
    assert timedelta(minutes=59) < token.expires_at - timezone.now() <= timedelta(minutes=60)
    assert token.revoked_at is None


@pytest.mark.parametrize("expires_in", [timedelta(days=1, minutes=5), None])
def test_an_overlap_never_makes_a_token_last_longer(admin, workspace, expires_in):
    ends_at = None if expires_in is None else timezone.now() + expires_in
    token, _ = mint_token(workspace, scopes=["search"], expires_at=ends_at)
    assert rotate(admin, workspace, token.pk, overlap_minutes=1440).status_code == 201

    token.refresh_from_db()
    assert token.expires_at <= timezone.now() + timedelta(days=1)


@pytest.mark.parametrize("overlap_minutes", [1, 1440])
def test_a_token_in_its_overlap_is_not_replaced_by_one_that_ends_with_it(
    admin, workspace, old, overlap_minutes
):
    token, secret = old
    new = rotate(admin, workspace, token.pk, overlap_minutes=overlap_minutes).json()
    again = rotate(admin, workspace, token.pk, overlap_minutes=60)
    assert (again.status_code, again.json()["code"]) == (409, "token_ends_soon")
    assert verify_token(secret) == token

    newest = rotate(admin, workspace, new["id"]).json()
    assert newest["expires_at"] == new["expires_at"]
    assert ApiToken.objects.count() == 3


def test_a_token_that_works_no_more_is_not_replaced(admin, workspace, old):
    token, _ = old
    assert rotate(admin, workspace, token.pk).status_code == 201
    again = rotate(admin, workspace, token.pk)
    assert (again.status_code, again.json()["code"]) == (409, "token_unusable")

    expired, _ = mint_token(workspace, scopes=["search"], expires_at=timezone.now() - timedelta(seconds=1))
    assert rotate(admin, workspace, expired.pk).status_code == 409
    assert ApiToken.objects.count() == 3


@pytest.mark.parametrize("minutes", [-1, 1441, "soon", 1.5])
def test_an_overlap_is_from_none_to_a_day(admin, workspace, old, minutes):
    assert rotate(admin, workspace, old[0].pk, overlap_minutes=minutes).status_code == 400
    assert ApiToken.objects.count() == 1


def test_another_workspaces_token_is_not_there_to_be_replaced(admin, workspace, other_workspace):
    foreign, secret = mint_token(other_workspace, scopes=["search"])

    missing = rotate(admin, workspace, uuid.uuid4())
    assert rotate(admin, workspace, foreign.pk).content == missing.content
    assert missing.status_code == 404
    assert verify_token(secret) is not None


def test_only_admins_and_owners_replace_tokens(workspace, old):
    every_scope = token_client(workspace, "search", "ingest", "manage", "ask")
    for client in (member_client(workspace, Role.EDITOR), member_client(workspace), every_scope):
        assert rotate(client, workspace, old[0].pk).status_code == 403


def test_a_replay_replaces_nothing_and_tells_no_secret(admin, workspace, old):
    headers = {"Idempotency-Key": "k"}
    address = path(workspace, old[0].pk, "/rotate")
    first, again = (admin.post(address, {}, format="json", headers=headers).json() for _ in range(2))

    assert (again["id"], again["token"]) == (first["id"], None)
    assert ApiToken.objects.count() == 2


def test_a_token_is_made_with_groups_and_shown_with_them(admin, workspace, group):
    fields = {"scopes": ["search"], "groups": [str(group.pk), str(group.pk)]}
    made = admin.post(path(workspace), fields, format="json").json()

    assert made["groups"] == [str(group.pk)]
    assert [row["groups"] for row in admin.get(path(workspace)).json()["results"]] == [[str(group.pk)]]
    assert admin.get(path(workspace, made["id"])).json()["groups"] == [str(group.pk)]
    assert verify_token(made["token"]).group_ids == [group.pk]
    assert AuditEvent.objects.get(action="token.created").detail["groups"] == ["staff"]


def test_a_group_of_elsewhere_is_as_unknown_as_a_missing_one(admin, workspace, other_workspace):
    theirs = create_group(the_operator(other_workspace), "staff").pk
    answers = []
    for group_id in (theirs, uuid.uuid4()):
        response = admin.post(
            path(workspace), {"scopes": ["search"], "groups": [str(group_id)]}, format="json"
        )
        assert (response.status_code, response.json()["code"]) == (422, "unknown_group")
        answers.append(response.content.replace(str(group_id).encode(), b"ID"))

    assert answers[0] == answers[1]
    assert not ApiToken.objects.exists()


def test_a_token_has_no_group_unless_it_is_given_one(admin, workspace, group):
    made = admin.post(path(workspace), {"scopes": ["manage"]}, format="json").json()

    assert made["groups"] == []
    assert verify_token(made["token"]).group_ids == []
    assert not TokenGroup.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_the_check_is_one_query_by_a_unique_index_and_none_for_a_wrong_form(workspace, group, settings):
    settings.KEBAB_PLAN_ONCE = False  # so that the query is seen as it is
    _, secret = mint_token(workspace, scopes=["search"], groups=[group])
    others = [ApiToken(workspace=workspace, prefix=f"p{n:011}", secret_sha256=b"") for n in range(2_000)]
    ApiToken.objects.bulk_create(others)  # so many that no plan would look at all of them
    with owner_connection() as owner:  # whatever other tests have left the statistics as
        owner.execute("ANALYZE people_apitoken, people_workspace")
    verify_token(secret)  # which writes the last use down
    with CaptureQueriesContext(connection) as queries:
        assert verify_token(secret) is not None
    assert len(select_statements(queries)) == len(statements(queries)) == 1
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {select_statements(queries)[0]}")
        plan = json.dumps(cursor.fetchone()[0])
    assert "people_apitoken_prefix" in plan, plan

    with CaptureQueriesContext(connection) as queries:
        for wrong in ("", "kbb_", secret[:-1], secret + "x", secret.upper(), "Bearer " + secret, "kbb_é"):
            assert verify_token(wrong) is None
    assert statements(queries) == []
    with CaptureQueriesContext(connection) as queries:
        assert verify_token(secret[:-1] + ("A" if secret[-1] != "A" else "B")) is None
    assert len(statements(queries)) == 1


def statements(queries):
    """Give what was asked of tables, without the settings that go before it."""
    whole = [query["sql"].rpartition(";")[2].strip() or query["sql"] for query in queries.captured_queries]
    return [each for each in whole if "people_" in each]


def select_statements(queries):
    return [each for each in statements(queries) if each.startswith("SELECT")]


def test_whoever_found_a_token_unused_a_moment_too_early_writes_nothing(workspace):
    token, secret = mint_token(workspace, scopes=["search"])
    found_before = readable_tokens().get(pk=token.pk)
    verify_token(secret)
    first = ApiToken.objects.get(pk=token.pk).last_used_at

    tokens._note_use(found_before)
    assert ApiToken.objects.get(pk=token.pk).last_used_at == first is not None


def test_a_secret_stands_nowhere_but_in_the_answer_that_gives_it(admin, workspace, old):
    log = io.StringIO()
    listener = logging.StreamHandler(log)
    logging.getLogger().addHandler(listener)
    before = logging.getLogger().level
    logging.getLogger().setLevel(logging.DEBUG)
    try:
        answers, secrets = everything_done_with(admin, workspace, old)
    finally:
        logging.getLogger().removeHandler(listener)
        logging.getLogger().setLevel(before)

    kept = [list(model.objects.values()) for model in (ApiToken, AuditEvent, IdempotencyKey)]
    told = [answer.content.decode() + str(answer.headers) for answer in answers]
    for secret in secrets:
        for place in (log.getvalue(), str(kept), *told):
            assert secret.split("_", 2)[2] not in place


def everything_done_with(admin, workspace, old):
    """Give all answers but those that tell a secret, and the secrets."""
    headers = {"Idempotency-Key": "made"}
    made = admin.post(path(workspace), {"scopes": ["search"]}, format="json", headers=headers).json()
    rotated = rotate(admin, workspace, old[0].pk, overlap_minutes=5).json()
    secrets = [old[1], made["token"], rotated["token"]]
    answers = [
        admin.post(path(workspace), {"scopes": ["search"]}, format="json", headers=headers),
        admin.get(path(workspace)),
        admin.get(path(workspace, made["id"])),
        admin.get(f"/api/v1/workspaces/{workspace.slug}/audit"),
        bearer_client(made["token"]).get("/api/v1/workspaces"),
        bearer_client(made["token"]).get(f"/api/v1/workspaces/{workspace.slug}/tokens"),
        bearer_client(made["token"]).get("/api/v1/fail/defect"),
        bearer_client(made["token"]).get(f"/api/v1/workspaces?token={made['token']}"[:40]),
        admin.delete(path(workspace, made["id"])),
        bearer_client(made["token"]).get("/api/v1/workspaces"),
    ]
    return answers, secrets
