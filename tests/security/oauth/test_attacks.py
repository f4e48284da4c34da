"""Attacks on the connections of OAuth clients: stolen codes and tokens, forged requests, floods, framing."""

from datetime import timedelta

import pytest
from django.utils import timezone

from kebab.identity.caller import caller_accesses, caller_of_token
from kebab.identity.models import AuditEvent, Membership, OAuthClient, OAuthGrant, PersonalToken
from kebab.identity.tokens import verify_token
from kebab.people.oauth import clients
from kebab.tenancy.current_workspace import acting_everywhere
from tests.support.actors import bearer_client, make_member, make_workspace
from tests.support.oauth import CHALLENGE, REDIRECT, RESOURCE, SITE, browser, make_app, register

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _room_for_clients(settings):
    settings.KEBAB_CLIENT_LIMIT = settings.KEBAB_BAD_TOKEN_LIMIT = "1000000/hour"


@pytest.fixture
def workspace():
    return make_workspace()


@pytest.fixture
def person(workspace):
    return make_member(workspace)


@pytest.fixture
def app():
    return make_app()


def works(tokens):
    return verify_token(tokens["access_token"], resource=RESOURCE) is not None


def refusal(response):
    assert response.status_code == 400, response.content
    return response.json()["error"]


def test_replayed_authorization_code_revokes_its_tokens(app, person):
    code = app.consent(person)["code"]
    tokens = app.exchange(code).json()
    assert works(tokens)
    assert refusal(app.exchange(code)) == "invalid_grant"
    assert not works(tokens)
    assert refusal(app.refresh(tokens["refresh_token"])) == "invalid_grant"


def test_code_needs_its_client_verifier_address_and_time(app, person, subtests):
    other = make_app()
    code = app.consent(person)["code"]
    for why, error, exchange in [
        ("client", "invalid_grant", lambda: other.exchange(code)),
        ("verifier", "invalid_grant", lambda: app.exchange(code, code_verifier="w" * 64)),
        ("no verifier", "invalid_request", lambda: app.exchange(code, code_verifier="")),
        ("redirect", "invalid_grant", lambda: app.exchange(code, redirect_uri="https://app.example/")),
        ("resource", "invalid_target", lambda: app.exchange(code, resource="https://other.example/mcp")),
        ("kind", "invalid_grant", lambda: app.refresh(code)),
        ("grant", "unsupported_grant_type", lambda: app.exchange(code, grant_type="password")),
        ("text", "invalid_request", lambda: app.exchange(code, grant_type='a"é')),
    ]:
        with subtests.test(why):
            assert refusal(exchange()) == error
    for client_id in ("nobody", "00000000-0000-4000-8000-000000000000", ""):
        forgotten = app.exchange(code, client_id=client_id)
        assert (forgotten.status_code, forgotten.json()["error"]) == (401, "invalid_client")
    OAuthGrant.objects.update(expires_at=timezone.now())
    assert refusal(app.exchange(code)) == "invalid_grant"


def test_reused_refresh_token_ends_the_connection(app, person):
    first = app.connect(person)
    second = app.refresh(first["refresh_token"]).json()
    assert works(second)
    assert not works(first)
    assert refusal(app.refresh(first["refresh_token"])) == "invalid_grant"
    assert not works(second)
    assert refusal(app.refresh(second["refresh_token"])) == "invalid_grant"
    event = AuditEvent.objects.get(action="token.revoked")
    assert (event.actor, event.detail["reason"]) == (person.email, "reused")


def test_tokens_of_another_client_are_neither_refreshed_nor_revoked(app, person):
    tokens, other = app.connect(person), make_app()
    assert refusal(other.refresh(tokens["refresh_token"])) == "invalid_grant"
    for token in (tokens["access_token"], tokens["refresh_token"]):
        assert refusal(other.revoke(token)) == "invalid_grant"
    assert works(tokens)


@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
def test_client_revokes_its_connection(app, person, kind):
    tokens = app.connect(person)
    assert app.revoke("nonsense").status_code == 200
    assert app.revoke(tokens[kind]).status_code == 200
    assert not works(tokens)
    assert refusal(app.refresh(tokens["refresh_token"])) == "invalid_grant"


def test_token_is_for_mcp_at_its_own_address_alone(app, person):
    secret = app.connect(person)["access_token"]
    assert bearer_client(secret).get("/api/v1/workspaces").status_code == 401
    for elsewhere in ("", "https://other.example/mcp", SITE):
        assert verify_token(secret, resource=elsewhere) is None
    for asked in ("https://other.example/mcp", SITE, f"{RESOURCE}/more"):
        assert app.consent(person, resource=asked)["error"] == "invalid_target"


def test_only_chosen_workspaces_are_seen_while_the_person_is_a_member(app, person, workspace):
    chosen, joined = make_workspace(), make_workspace()
    Membership.objects.create(workspace=chosen, user=person, role="viewer")
    tokens = app.connect(person, workspaces=[chosen.pk])
    Membership.objects.create(workspace=joined, user=person, role="viewer")

    def seen():
        caller = caller_of_token(verify_token(tokens["access_token"], resource=RESOURCE))
        return [access.workspace for access in caller_accesses(caller, limit=9)]

    assert seen() == [chosen]
    with acting_everywhere():
        Membership.objects.filter(workspace=chosen).delete()
    assert seen() == []
    person.is_active = False
    person.save()
    assert not works(tokens)
    assert refusal(app.refresh(tokens["refresh_token"])) == "invalid_grant"


def test_token_revoked_on_the_profile_page_is_not_refreshed(app, person):
    tokens = app.connect(person)
    page = browser()
    page.force_login(person)
    token = PersonalToken.objects.get(user=person)
    assert page.post(f"/profile/tokens/{token.pk}/revoke").status_code == 302
    assert not works(tokens)
    assert refusal(app.refresh(tokens["refresh_token"])) == "invalid_grant"


def test_foreign_or_no_workspace_can_not_be_chosen(app, person):
    for chosen in ([], [make_workspace().pk], ["nonsense"]):
        assert app.decide(person, workspaces=chosen).status_code == 400
    assert not PersonalToken.objects.exists()


def test_bad_request_of_a_client_never_redirects_elsewhere(app, person, subtests):
    for why, changed in {
        "unregistered": {"redirect_uri": "https://evil.example/callback"},
        "longer": {"redirect_uri": f"{REDIRECT}/more"},
        "query": {"redirect_uri": f"{REDIRECT}?a=1"},
        "missing": {"redirect_uri": None},
        "unsafe": {"redirect_uri": 'https://app.example/"é'},
        "client": {"client_id": "00000000-0000-4000-8000-000000000000"},
        "no client": {"client_id": None},
        "text": {"response_type": 'co"de', "redirect_uri": "https://evil.example"},
    }.items():
        with subtests.test(why):
            assert app.decide(person, **changed).status_code == 400


def test_other_errors_go_to_the_client_with_its_state(app, person, subtests):
    for error, changed in [
        ("invalid_request", {"code_challenge": None}),
        ("invalid_request", {"code_challenge_method": "plain"}),
        ("invalid_request", {"code_challenge_method": None}),
        ("invalid_request", {"code_challenge": "short"}),
        ("invalid_scope", {"scope": "manage"}),
        ("unsupported_response_type", {"response_type": "token"}),
        ("access_denied", {"decision": "deny"}),
    ]:
        with subtests.test(error=error, changed=changed):
            back = app.consent(person, **changed)
            assert (back["error"], back["state"], back["iss"]) == (error, '{"a": 1}', SITE)
            assert "code" not in back


def test_consent_page_can_not_be_framed_forged_or_seen_by_strangers(app, person):
    page = browser(enforce_csrf_checks=True)
    stranger = page.get(app.authorize_path())
    assert stranger.status_code == 302
    assert stranger["Location"].startswith("/login?next=/oauth/authorize")
    page.force_login(person)
    shown = page.get(app.authorize_path())
    assert shown["X-Frame-Options"] == "DENY"
    policy = shown["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy
    assert "default-src 'self'" in policy
    assert page.post(app.authorize_path(), {"decision": "allow"}).status_code == 403
    assert not PersonalToken.objects.exists()


def test_only_addresses_under_tls_or_on_this_machine_are_registered(subtests):
    for uri in [
        "http://app.example/callback",
        "https://app.example/#part",
        "https://user@app.example/",
        "https://app.example\\@evil.example/",
        "https://app.example; script-src *",
        "https://app.example/'",
        "https://",
        "http://127.0.0.1.evil.example/",
        "http://localhost@evil.example/",
        "javascript:alert(1)",
        "cursor://callback",
        "https://app.example/\0",
        "https://äpp.example/",
        "",
    ]:
        with subtests.test(uri):
            assert refusal(register(redirect_uris=[uri])) == "invalid_redirect_uri"
    for metadata in ({"redirect_uris": []}, {"redirect_uris": [REDIRECT] * 11}):
        assert refusal(register(**metadata)) == "invalid_redirect_uri"
    for metadata in ({"client_name": "x" * 201}, {"client_name": "a\0"}, {"client_name": ["a"]}):
        assert refusal(register(**metadata)) == "invalid_client_metadata"
    for body in ("[]", "nonsense", "[" * 100_000):
        response = browser().post("/oauth/register", body, content_type="application/json")
        assert refusal(response) in ("invalid_client_metadata", "invalid_redirect_uri")


def test_port_of_a_program_on_this_machine_may_differ_and_nothing_else(person):
    app = make_app(redirect_uris=["http://127.0.0.1/callback"])
    for uri in (
        "http://127.0.0.1:8123/other",
        "http://localhost:8123/callback",
        "https://127.0.0.1/callback",
    ):
        assert app.decide(person, redirect_uri=uri).status_code == 400
    uri = "http://127.0.0.1:8123/callback"
    code = app.consent(person, redirect_uri=uri)["code"]
    assert refusal(app.exchange(code, redirect_uri="http://127.0.0.1/callback")) == "invalid_grant"
    assert app.exchange(code, redirect_uri=uri).status_code == 200


def test_flood_of_registrations_is_limited_and_displaces_only_unused_clients(
    settings, monkeypatch, app, person
):
    app.connect(person)
    monkeypatch.setattr(clients, "MAX_UNUSED_CLIENTS", 2)
    made = [make_app() for _ in range(3)]
    assert {str(pk) for pk in OAuthClient.objects.values_list("pk", flat=True)} == {
        app.client_id,
        made[1].client_id,
        made[2].client_id,
    }
    settings.KEBAB_CLIENT_LIMIT = "1/hour"
    refused = [register() for _ in range(9)][-1]
    assert (refused.status_code, refused.json()["error"]) == (429, "temporarily_unavailable")
    assert int(refused["Retry-After"]) > 0


def test_guesses_at_the_token_endpoint_are_limited(settings, app):
    settings.KEBAB_BAD_TOKEN_LIMIT = "3/hour"
    refused = [app.refresh("guess") for _ in range(9)][-1]
    assert (refused.status_code, refused.json()["error"]) == (429, "temporarily_unavailable")


def test_pruning_keeps_what_can_be_used_again(app, person, subtests):
    now = timezone.now()
    tokens = app.connect(person)
    abandoned = make_app()
    abandoned.consent(person)
    OAuthGrant.objects.filter(token__client=abandoned.client_id).update(expires_at=now)
    PersonalToken.objects.update(expires_at=now)
    OAuthClient.objects.update(active_at=now - timedelta(days=31))

    assert clients.prune_connections() == 1
    assert [str(row.pk) for row in OAuthClient.objects.all()] == [app.client_id]
    tokens = app.refresh(tokens["refresh_token"]).json()
    assert works(tokens)

    OAuthGrant.objects.update(expires_at=now)
    PersonalToken.objects.update(expires_at=now)
    clients.prune_connections()
    assert not PersonalToken.objects.exists()
    assert not OAuthClient.objects.exists()


def test_plain_challenge_is_not_a_verifier(app, person):
    code = app.consent(person)["code"]
    assert refusal(app.exchange(code, code_verifier=CHALLENGE)) == "invalid_grant"
