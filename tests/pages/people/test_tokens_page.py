"""The tokens page: creation, rotation, revocation; a secret is shown once."""

import re
import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from kebab.identity.models import ApiToken
from kebab.identity.tokens import mint_token, verify_token
from kebab.people.groups import create_group
from kebab.people.operator import command_line_access
from tests.pages.page_text import markup_of

TOKENS = "/w/handbook/tokens"


@pytest.fixture
def token(workspace, owner):
    return mint_token(workspace, scopes=["search"], name="Wiki bot", created_by=owner)[0]


def secrets_in(response):
    return re.findall(r"kbb_[a-z2-7]{12}_[\w-]{43}", response.content.decode())


def test_created_token_has_the_chosen_rights_and_shows_its_secret_once(at, workspace, owner):
    legal = create_group(command_line_access(workspace), "Legal")
    form = {"name": "CI", "scopes": ["search", "ingest"], "groups": [str(legal.pk)], "expires_in_days": "30"}
    answer = at.post(TOKENS, form)
    (secret,) = secrets_in(answer)
    token = verify_token(secret)

    assert (token.name, token.scopes, token.group_ids) == ("CI", ["ingest", "search"], [legal.pk])
    assert token.created_by_id == owner.pk
    assert timedelta(days=29) < token.expires_at - timezone.now() < timedelta(days=31)
    assert (answer.status_code, "Location" in answer) == (200, False)
    assert "no-store" in answer["Cache-Control"]
    assert secret not in "".join(str(cookie) for cookie in answer.cookies.values())
    assert secret not in str(dict(at.session))
    for address in (TOKENS, f"{TOKENS}/{token.pk}"):
        page = at.get(address)
        assert f"kbb_{token.prefix}" in page.content.decode()
        assert secrets_in(page) == []


def test_token_without_expiry_is_good_until_revoked(at):
    (secret,) = secrets_in(at.post(TOKENS, {"scopes": ["ask"], "expires_in_days": ""}))
    assert verify_token(secret).expires_at is None
    address = f"{TOKENS}/{ApiToken.objects.get().pk}"
    assert f'action="{address}/revoke"' in at.get(address).content.decode()
    at.post(f"{address}/revoke")

    assert ApiToken.objects.get().revoked_at is not None
    assert "/revoke" not in at.get(address).content.decode()
    # Nor is one replaced that has ended.
    answer = at.post(address, {"overlap_minutes": "5"})
    assert (answer.status_code, secrets_in(answer)) == (409, [])


def test_invalid_token_is_refused_keeping_input(at, other_workspace, subtests):
    foreign = create_group(command_line_access(other_workspace), "Theirs")
    for fields, status in (
        ({"scopes": []}, 400),
        ({"scopes": ["root"]}, 400),
        ({"expires_in_days": "1000000"}, 400),
        ({"groups": [str(uuid.UUID(int=n)) for n in range(101)]}, 400),
        ({"name": "x" * 201}, 400),
        ({"groups": [str(foreign.pk)]}, 422),
        ({"groups": ["00000000-0000-4000-8000-000000000000"]}, 422),
    ):
        with subtests.test(fields=str(fields)[:60]):
            typed = {"name": "Wiki bot", "scopes": ["search"], "expires_in_days": "30", **fields}
            answer = at.post(TOKENS, typed)

            assert answer.status_code == status
            assert status == 422 or set(fields) == set(answer.context["form"].errors)
            assert f'value="{typed["name"]}"' in answer.content.decode()
            assert not ApiToken.objects.exists()


def test_tokens_are_listed_with_state_scopes_expiry_use_and_maker(at, workspace, owner, token):
    ApiToken.objects.filter(pk=token.pk).update(
        last_used_at="2024-05-06T07:08:00Z", expires_at="2024-06-01T00:00:00Z"
    )
    page = at.get(TOKENS).content.decode()
    row = page.partition("Wiki bot</a>")[2].partition("</tr>")[0]

    for fact in (
        '<span class="state bad">',
        '<td data-label="Permissions">search</td>',
        "1 Jun 2024",
        "6 May 2024, 07:08",
        "olga@example.org",
    ):
        assert fact in row


def test_rotated_token_works_during_the_chosen_overlap(at, token, workspace):
    for minutes in ("", "-1", "1441", "x"):
        answer = at.post(f"{TOKENS}/{token.pk}", {"overlap_minutes": minutes})
        assert 'class="wrong"' in markup_of(answer, status=400)
    assert ApiToken.objects.count() == 1
    (secret,) = secrets_in(at.post(f"{TOKENS}/{token.pk}", {"overlap_minutes": "30"}))
    old, new = ApiToken.objects.get(pk=token.pk), verify_token(secret)

    assert new.name == "Wiki bot"
    assert old.is_usable
    assert old.expires_at - timezone.now() < timedelta(minutes=31)
    at.post(f"{TOKENS}/{new.pk}", {"overlap_minutes": "0"})
    assert ApiToken.objects.get(pk=new.pk).revoked_at is not None


def test_filters_of_a_token_are_shown(at, workspace, token):
    narrowed, _ = mint_token(workspace, scopes=["search"], filters={"tags_any": ["öffentlich"]})
    assert "öffentlich" in markup_of(at.get(f"{TOKENS}/{narrowed.pk}"))
    assert "tags_any" not in markup_of(at.get(f"{TOKENS}/{token.pk}"))


def test_token_of_another_workspace_is_answered_like_a_missing_one(at, other_workspace):
    foreign, _ = mint_token(other_workspace, scopes=["search"])
    for below in ("", "/revoke"):
        strange, missing = (
            at.post(f"{TOKENS}/{token_id}{below}", {"overlap_minutes": "0"})
            for token_id in (foreign.pk, "00000000-0000-4000-8000-000000000000")
        )
        assert strange.status_code == missing.status_code == 404
        assert strange.content == missing.content
    assert ApiToken.objects.get().revoked_at is None
