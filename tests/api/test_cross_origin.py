"""Requests of scripts on other sites' pages, as far as a workspace allows their origin."""

import pytest
from rest_framework.test import APIClient

from kebab.people.workspace_settings.hooks import clean_origins
from tests.support.actors import Role, make_workspace, member_client, token_client
from tests.support.api import address

pytestmark = pytest.mark.django_db

SITE = "https://docs.example.com"
ASKED = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}


@pytest.fixture
def workspace():
    workspace = make_workspace()
    workspace.settings = {"allowed_origins": f"http://localhost:3000 {SITE}"}
    workspace.save(update_fields=["settings"])
    return workspace


def preflight(workspace, origin=SITE, tail="/search"):
    return APIClient().options(address(workspace, tail), headers={"Origin": origin, **ASKED})


def allowed_origin(response):
    return response.headers.get("Access-Control-Allow-Origin")


def test_allowed_origin_may_send_a_token(workspace):
    asked = preflight(workspace)
    assert (asked.status_code, allowed_origin(asked)) == (200, SITE)
    assert "authorization" in asked.headers["Access-Control-Allow-Headers"]
    assert "Access-Control-Allow-Credentials" not in asked.headers
    tool = token_client(workspace, "search")
    answer = tool.get(address(workspace, "/search"), {"q": "x"}, headers={"Origin": SITE})
    assert (answer.status_code, allowed_origin(answer)) == (200, SITE)
    assert "RateLimit-Remaining" in answer.headers["Access-Control-Expose-Headers"]
    refused = APIClient().get(address(workspace, "/search"), {"q": "x"}, headers={"Origin": SITE})
    assert (refused.status_code, allowed_origin(refused)) == (401, SITE)


def test_other_origins_and_other_workspaces_are_not_allowed(workspace, subtests):
    other = make_workspace()
    for asked in (
        preflight(workspace, "https://evil.example.com"),
        preflight(workspace, f"{SITE}.evil.com"),
        preflight(workspace, "null"),
        preflight(other),
        APIClient().options("/api/v1/workspaces/missing/search", headers={"Origin": SITE, **ASKED}),
        APIClient().options("/api/v1/workspaces", headers={"Origin": SITE, **ASKED}),
        APIClient().options(f"/w/{workspace.slug}/search", headers={"Origin": SITE, **ASKED}),
    ):
        with subtests.test(url=asked.request["PATH_INFO"]):
            assert allowed_origin(asked) is None
    tool = token_client(other, "search")
    answer = tool.get(address(other, "/search"), {"q": "x"}, headers={"Origin": SITE})
    assert (answer.status_code, allowed_origin(answer)) == (200, None)


def test_same_origin_request_gets_no_cors_headers(workspace):
    answer = token_client(workspace, "search").get(address(workspace, "/search"), {"q": "x"})
    assert allowed_origin(answer) is None


def test_setting_is_a_list_of_origins(workspace):
    admin = member_client(workspace, Role.ADMIN)
    given = {"settings": {"allowed_origins": " https://a.example  https://a.example *"}}
    changed = admin.patch(address(workspace, ""), given, format="json")
    assert changed.json()["settings"]["allowed_origins"] == "https://a.example *"
    assert allowed_origin(preflight(workspace, "https://whatever.example")) == "https://whatever.example"


@pytest.mark.parametrize("value", ["example.com", "https://a/b", "ftp://a", "https://a https://", ["*"], 1])
def test_malformed_origin_is_refused(value):
    with pytest.raises(ValueError, match="is not an origin"):
        clean_origins(value)
