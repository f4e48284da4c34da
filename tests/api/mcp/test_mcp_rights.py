"""Who may ask: tokens and their scopes, looked up at every request."""

import httpx2
import pytest
from anyio import to_thread
from django.utils import timezone
from mcp import MCPError

from kebab.people.models import ApiToken
from kebab.people.revocation import revoke_token
from tests.api.mcp.shelf import committed
from tests.api.mcp.speaking import ERAS, Line, environment, said

_HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
_LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.fixture
def post(url, shelf):
    """Send a message as anyone may, and give the response."""

    def send(body=_LIST, method="POST", **headers):
        given = {**_HEADERS, "Authorization": f"Bearer {shelf.secret}", **headers}
        sent = {name: value for name, value in given.items() if value is not None}
        return httpx2.request(method, f"{url}/mcp", json=body, headers=sent)

    return send


@pytest.mark.parametrize("era", ERAS)
def test_a_token_revoked_in_the_middle_of_a_session_is_refused_from_the_next_request_on(url, shelf, era):
    token, secret = shelf.token("search")

    async def ask(client):
        before = await client.call_tool("search", {"query": "tides"})
        await to_thread.run_sync(lambda: committed(lambda: revoke_token(token)))
        with pytest.raises(MCPError):
            await client.call_tool("search", {"query": "tides"})
        with pytest.raises(MCPError):
            await client.list_tools(cache_mode="refresh")
        return before

    assert not Line(url=url, secret=secret, era=era).use(ask).is_error


@pytest.mark.parametrize("era", ERAS)
def test_a_process_whose_token_is_revoked_answers_no_more(shelf, folder, era):
    token, secret = shelf.token("search")

    async def ask(client):
        before = await client.call_tool("search", {"query": "tides"})
        await to_thread.run_sync(lambda: committed(lambda: revoke_token(token)))
        with pytest.raises(MCPError, match="unknown, expired or revoked"):
            await client.call_tool("search", {"query": "tides"})
        with pytest.raises(MCPError, match="unknown, expired or revoked"):
            await client.read_resource("guides/install.md")
        return before

    line = Line(secret=secret, era=era, environment=environment(folder, KEBAB_TOKEN=secret))
    assert not line.use(ask).is_error


def test_each_tool_asks_for_its_scope(url, shelf):
    given = {
        "search": {"query": "a"},
        "fetch": {"id": "guides/install.md"},
        "resolve-library-id": {"libraryName": "a"},
        "query-docs": {"libraryId": "/facebook/react", "query": "a"},
        "codebase-retrieval": {"information_request": "a"},
        "ask": {"question": "Which lantern?"},
    }

    async def call_all(client):
        return {name: await client.call_tool(name, arguments) for name, arguments in given.items()}

    for scope in (None, "search", "ingest", "manage", "ask"):
        _, secret = shelf.token(*filter(None, [scope]))
        results = Line(url=url, secret=secret).use(call_all)
        let_in = {name for name, result in results.items() if not result.is_error}
        assert let_in == ({"ask"} if scope == "ask" else set(given) - {"ask"} if scope == "search" else set())
        for name in set(given) - let_in:
            assert said(results[name]).startswith("forbidden: This token ")


def test_resources_ask_for_the_scope_to_search(url, shelf):
    _, secret = shelf.token("ask")
    line = Line(url=url, secret=secret)

    for act in (lambda client: client.list_resources(), lambda client: client.read_resource("hooks.md")):
        with pytest.raises(MCPError, match="lacks the scope search"):
            line.use(act)


@pytest.mark.parametrize(
    "given", [None, "Bearer nonsense", "Basic YTpi", "Bearer kbb_aaaaaaaaaaaa_" + "a" * 43]
)
def test_without_a_good_token_there_is_a_401_that_says_what_is_needed(post, given):
    response = post(Authorization=given)

    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == 'Bearer realm="kebab"'
    assert response.headers["Content-Type"] == "application/problem+json"
    assert response.json()["code"] in ("not_authenticated", "invalid_token")


def test_an_expired_token_is_no_good(post, shelf):
    token, secret = shelf.token("search")
    expire = ApiToken.objects.filter(pk=token.pk)
    committed(lambda: expire.update(expires_at=timezone.now()))

    assert post(Authorization=f"Bearer {secret}").status_code == 401


def test_only_posts_are_taken_and_of_a_limited_size(post):
    for method in ("GET", "DELETE", "PUT"):
        refused = post(method=method)
        assert (refused.status_code, refused.headers["Allow"]) == (405, "POST")
    large = {**_LIST, "params": {"x": "a" * 1_000_001}}
    assert post(large).status_code == 413


def test_pages_of_other_sites_and_other_names_of_this_one_are_refused(post, settings):
    assert post(Origin="https://evil.example").json()["code"] == "origin_not_trusted"
    assert post(Host="evil.example").status_code == 400
    settings.CSRF_TRUSTED_ORIGINS = ["https://tools.example"]
    assert post(Origin="https://tools.example").status_code == 200


def test_responses_have_the_headers_that_all_have(post):
    for response in (post(), post(Authorization=None)):
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["X-Frame-Options"] == "DENY"
        assert "no-" in response.headers["Cache-Control"]


def test_requests_are_counted_like_any(post, settings, shelf):
    settings.KEBAB_RATE_LIMIT = "2/hour"
    _, secret = shelf.token("search")
    statuses = [post(Authorization=f"Bearer {secret}").status_code for _ in range(3)]

    assert statuses == [200, 200, 429]


@pytest.mark.parametrize(
    "body",
    [
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 1}},
        {"jsonrpc": "2.0", "id": 1, "method": "no/such"},
        {"jsonrpc": "1.0"},
        [],
        "text",
        None,
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": [1]}},
    ],
)
def test_what_is_no_message_is_refused_and_no_fault_of_ours(post, body):
    for version in (None, "2025-06-18", "2026-07-28", "nonsense"):
        response = post(body, **{"MCP-Protocol-Version": version})
        assert response.status_code < 500, response.text
