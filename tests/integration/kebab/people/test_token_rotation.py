import io
import logging
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from kebab.http.api.models import IdempotencyKey
from kebab.identity.models import ApiToken, AuditEvent
from kebab.identity.tokens import mint_token, verify_token
from tests.integration.kebab.people.token_requests import make, path, rotate
from tests.support.actors import bearer_client


@pytest.fixture
def old(workspace, group):
    """Make a token with everything that a new one takes over, and its secret."""
    ends_at = timezone.now() + timedelta(days=30)
    return mint_token(workspace, scopes=["search", "ask"], name="ci", groups=[group], expires_at=ends_at)


def test_rotated_token_keeps_its_rights_and_the_old_one_ends(admin, workspace, old, group):
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

    again = rotate(admin, workspace, token.pk)
    assert (again.status_code, again.json()["code"]) == (409, "token_unusable")
    expired, _ = mint_token(workspace, scopes=["search"], expires_at=timezone.now() - timedelta(seconds=1))
    assert rotate(admin, workspace, expired.pk).status_code == 409
    assert ApiToken.objects.count() == 3


@pytest.mark.parametrize("expires_in", [timedelta(days=1, minutes=5), None])
def test_overlap_never_makes_a_token_last_longer(admin, workspace, expires_in):
    ends_at = None if expires_in is None else timezone.now() + expires_in
    token, _ = mint_token(workspace, scopes=["search"], expires_at=ends_at)
    assert rotate(admin, workspace, token.pk, overlap_minutes=1440).status_code == 201
    token.refresh_from_db()
    assert token.expires_at <= timezone.now() + timedelta(days=1)


@pytest.mark.parametrize("overlap_minutes", [1, 60, 1440])
def test_both_tokens_work_until_the_overlap_ends_and_the_old_one_is_not_rotated_again(
    admin, workspace, old, overlap_minutes
):
    token, secret = old
    new = rotate(admin, workspace, token.pk, overlap_minutes=overlap_minutes).json()
    assert verify_token(new["token"]) is not None
    again = rotate(admin, workspace, token.pk, overlap_minutes=60)
    assert (again.status_code, again.json()["code"]) == (409, "token_ends_soon")
    assert verify_token(secret) == token
    token.refresh_from_db()
    left = token.expires_at - timezone.now()
    assert timedelta(minutes=overlap_minutes - 1) < left <= timedelta(minutes=overlap_minutes)
    assert token.revoked_at is None

    newest = rotate(admin, workspace, new["id"]).json()
    assert newest["expires_at"] == new["expires_at"]
    assert ApiToken.objects.count() == 3


def test_overlap_is_from_none_to_a_day(admin, workspace, old):
    for minutes in (-1, 1441, "soon", 1.5):
        assert rotate(admin, workspace, old[0].pk, overlap_minutes=minutes).status_code == 400, minutes
    assert ApiToken.objects.count() == 1


def test_secret_is_only_in_the_response_that_creates_it(admin, workspace, old):
    log = io.StringIO()
    listener = logging.StreamHandler(log)
    logging.getLogger().addHandler(listener)
    before = logging.getLogger().level
    logging.getLogger().setLevel(logging.DEBUG)
    try:
        answers, secrets = answers_and_secrets(admin, workspace, old)
    finally:
        logging.getLogger().removeHandler(listener)
        logging.getLogger().setLevel(before)

    stored = [list(model.objects.values()) for model in (ApiToken, AuditEvent, IdempotencyKey)]
    texts = [answer.content.decode() + str(answer.headers) for answer in answers]
    for secret in secrets:
        for place in (log.getvalue(), str(stored), *texts):
            assert secret.split("_", 2)[2] not in place


def answers_and_secrets(admin, workspace, old):
    """Return the responses to all requests about tokens that show no secret, and the secrets."""
    headers, turn = {"Idempotency-Key": "made"}, {"Idempotency-Key": "rotated"}
    made = make(admin, workspace, headers=headers).json()
    rotated = rotate(admin, workspace, old[0].pk, headers=turn, overlap_minutes=5).json()
    again = make(admin, workspace, headers=headers)
    rotated_again = rotate(admin, workspace, old[0].pk, headers=turn, overlap_minutes=5)
    assert (again.json()["id"], again.json()["token"]) == (made["id"], None)
    assert (rotated_again.json()["id"], rotated_again.json()["token"]) == (rotated["id"], None)
    assert ApiToken.objects.count() == 3
    bearer = bearer_client(made["token"])
    answers = [
        again,
        rotated_again,
        admin.get(path(workspace)),
        admin.get(path(workspace, made["id"])),
        admin.get(f"/api/v1/workspaces/{workspace.slug}/audit"),
        bearer.get("/api/v1/workspaces"),
        bearer.get(path(workspace)),
        bearer.get("/api/v1/fail/defect"),
        bearer.get(f"/api/v1/workspaces?token={made['token']}"[:40]),
        admin.delete(path(workspace, made["id"])),
        bearer.get("/api/v1/workspaces"),
    ]
    return answers, [old[1], made["token"], rotated["token"]]
