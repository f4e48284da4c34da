"""Metadata and registration of MCP clients, also of those that are pages, and the consent page."""

import pytest
from django.test import Client

from kebab.identity.models import OAuthClient
from tests.support.actors import make_member, make_person, make_workspace
from tests.support.oauth import REDIRECT, RESOURCE, SITE, browser, make_app, register

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _room_for_clients(settings):
    settings.KEBAB_CLIENT_LIMIT = "1000000/hour"


@pytest.mark.parametrize("tail", ["", "/mcp"])
def test_resource_names_its_authorization_server(tail):
    found = browser().get(f"/.well-known/oauth-protected-resource{tail}").json()
    assert (found["resource"], found["authorization_servers"]) == (RESOURCE, [SITE])
    assert found["scopes_supported"] == ["search", "ask"]


def test_server_describes_what_it_does():
    found = browser().get("/.well-known/oauth-authorization-server").json()
    endpoints = {name: found.pop(f"{name}_endpoint") for name in ("authorization", "token", "registration")}
    assert endpoints == {
        "authorization": f"{SITE}/oauth/authorize",
        "token": f"{SITE}/oauth/token",
        "registration": f"{SITE}/oauth/register",
    }
    assert found["issuer"] == SITE
    assert found["code_challenge_methods_supported"] == ["S256"]
    assert found["token_endpoint_auth_methods_supported"] == ["none"]
    assert found["grant_types_supported"] == ["authorization_code", "refresh_token"]
    assert found["authorization_response_iss_parameter_supported"] is True


def test_configured_address_is_the_issuer(settings):
    settings.KEBAB_URL = "https://kebab.example.org"
    found = browser().get("/.well-known/oauth-protected-resource/mcp").json()
    assert found["resource"] == "https://kebab.example.org/mcp"


def test_registration_returns_the_stored_client():
    asked = {
        "client_name": "Ü",
        "token_endpoint_auth_method": "client_secret_basic",
        "logo_uri": "javascript:",
    }
    response = register(**asked)
    client = OAuthClient.objects.get()
    found = response.json()
    assert response.status_code == 201
    assert found.pop("client_id_issued_at") == int(client.registered_at.timestamp())
    assert found == {
        "client_id": str(client.pk),
        "client_name": "Ü",
        "redirect_uris": [REDIRECT],
        "scope": "search ask",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }


def test_registration_of_many_wrong_addresses_is_refused_in_short():
    response = register(redirect_uris=[1] * 10_000)
    assert (response.status_code, response.json()["error"]) == (400, "invalid_redirect_uri")
    assert len(response.content) < 2_000
    long = register(redirect_uris=["http://" + "x" * 1_900] * 10)
    assert (long.status_code, len(long.content) < 2_000) == (400, True)


def test_pages_of_any_site_may_call_clients_endpoints_and_no_other(subtests):
    asked = {"Origin": "http://localhost:6274", "Access-Control-Request-Method": "POST"}
    for path, allowed in {
        "/.well-known/oauth-authorization-server": True,
        "/.well-known/oauth-protected-resource/mcp": True,
        "/oauth/register": True,
        "/oauth/token": True,
        "/oauth/revoke": True,
        "/oauth/authorize": False,
        "/profile": False,
    }.items():
        with subtests.test(path):
            response = browser().options(path, headers=asked)
            given = response.headers.get("Access-Control-Allow-Origin")
            assert given == (asked["Origin"] if allowed else None)
            assert "Access-Control-Allow-Credentials" not in response.headers


def test_codes_are_not_sent_over_plain_http():
    app, workspace = make_app(), make_workspace()
    plain = Client(headers={"host": "testserver"})
    plain.force_login(make_member(workspace))
    assert plain.get(app.authorize_path(resource=None)).status_code == 400
    refused = plain.post("/oauth/token", {"grant_type": "refresh_token"})
    assert (refused.status_code, refused.json()["error"]) == (400, "insecure_transport")
    encrypted = Client(headers={"host": "testserver"})
    encrypted.force_login(make_member(workspace))
    assert encrypted.get(app.authorize_path(resource=None), secure=True).status_code == 200


def test_consent_page_offers_only_the_persons_workspaces():
    mine, foreign = make_workspace(), make_workspace()
    page = browser()
    page.force_login(make_member(mine))
    shown = page.get(make_app().authorize_path()).content.decode()
    assert str(mine.pk) in shown
    assert str(foreign.pk) not in shown
    assert foreign.name not in shown


def test_person_without_a_workspace_can_only_cancel():
    page = browser()
    page.force_login(make_person())
    shown = page.get(make_app().authorize_path())
    assert shown.status_code == 200
    assert 'value="allow"' not in shown.content.decode()
