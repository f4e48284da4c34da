"""Access to MCP over HTTP: tokens and their scopes at every request, sizes, origins and limits."""

import httpx2
import pytest
from anyio import to_thread
from django.utils import timezone
from mcp import MCPError

from kebab.identity.models import ApiToken
from kebab.people.token_lifecycle import mark_revoked
from tests.api.mcp.clients import ERAS, Line
from tests.api.mcp.shelf import commit

_HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
_LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
_CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}


@pytest.fixture
def post(url, shelf):
    """Send a message with these headers, and return the response."""

    def send(body=_LIST, method="POST", **headers):
        given = {**_HEADERS, "Authorization": f"Bearer {shelf.secret}", **headers}
        sent = {name: value for name, value in given.items() if value is not None}
        return httpx2.request(method, f"{url}/mcp", json=body, headers=sent)

    return send


@pytest.mark.parametrize("era", ERAS)
def test_token_revoked_in_a_session_is_refused_from_the_next_request_on(url, shelf, era):
    token, secret = shelf.token("search")

    async def ask(client):
        before = await client.call_tool("search", {"query": "tides"})
        await to_thread.run_sync(lambda: commit(lambda: mark_revoked(token)))
        with pytest.raises(MCPError):
            await client.call_tool("search", {"query": "tides"})
        with pytest.raises(MCPError):
            await client.list_tools(cache_mode="refresh")
        return before

    assert not Line(url=url, secret=secret, era=era).use(ask).is_error


def test_resources_need_the_scope_to_search(url, shelf):
    _, secret = shelf.token("ask")
    line = Line(url=url, secret=secret)
    for act in (lambda client: client.list_resources(), lambda client: client.read_resource("hooks.md")):
        with pytest.raises(MCPError, match="forbidden"):
            line.use(act)


def test_missing_wrong_or_expired_token_is_refused(post, url, shelf):
    token, secret = shelf.token("search")
    expire = ApiToken.objects.filter(pk=token.pk)
    commit(lambda: expire.update(expires_at=timezone.now()))
    bad = ("Bearer nonsense", "Bearer kbb_aaaaaaaaaaaa_" + "a" * 43, f"Bearer {secret}")
    for given, code in [
        (None, "not_authenticated"),
        ("Basic YTpi", "not_authenticated"),
        *((each, "invalid_token") for each in bad),
    ]:
        response = post(Authorization=given)
        assert (response.status_code, response.json()["code"]) == (401, code), given
        challenge = response.headers["WWW-Authenticate"]
        assert f'resource_metadata="{url}/.well-known/oauth-protected-resource/mcp"' in challenge
        assert challenge.startswith("Bearer ")
        assert response.headers["Content-Type"] == "application/problem+json"


def test_only_posts_of_a_limited_size_are_accepted(post):
    for method in ("GET", "DELETE", "PUT"):
        refused = post(method=method)
        assert (refused.status_code, refused.headers["Allow"]) == (405, "POST")
    assert post({**_LIST, "params": {"x": "a" * 1_000_001}}).status_code == 413


def test_other_origins_and_hosts_are_refused(post, settings):
    assert post(Origin="https://evil.example").json()["code"] == "origin_not_trusted"
    assert post(Host="evil.example").status_code == 400
    settings.CSRF_TRUSTED_ORIGINS = ["https://tools.example"]
    assert post(Origin="https://tools.example").status_code == 200


def test_responses_have_security_headers(post):
    for response in (post(), post(Authorization=None)):
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["X-Frame-Options"] == "DENY"
        assert "no-" in response.headers["Cache-Control"]


def test_requests_are_rate_limited(post, settings, shelf):
    settings.KEBAB_RATE_LIMIT = "2/hour"
    _, secret = shelf.token("search")
    statuses = [post(Authorization=f"Bearer {secret}").status_code for _ in range(3)]
    assert statuses == [200, 200, 429]


def test_client_without_event_streams_gets_plain_json(post, subtests):
    call = {**_CALL, "params": {"name": "search", "arguments": {"query": "tides"}}}
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    routed = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "search"}
    modern = {**call, "params": {**call["params"], "_meta": meta}}
    for body, headers in ((call, {"MCP-Protocol-Version": "2025-06-18"}), (modern, routed)):
        with subtests.test(headers=headers):
            response = post(body, Accept="application/json", **headers)
            assert response.status_code == 200, response.text
            assert response.headers["Content-Type"] == "application/json"
            assert response.json()["result"]["structuredContent"]["results"]
    assert post(call, Accept="text/html").status_code == 406


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25"])
def test_handshake_returns_the_protocol_version_of_the_client(post, version):
    given = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    response = post({**_LIST, "method": "initialize", "params": given}, Accept="application/json")
    assert response.json()["result"]["protocolVersion"] == version


def test_malformed_message_is_refused_without_a_server_error(post, subtests):
    for body in (
        {**_CALL, "params": {"name": 1}},
        {**_CALL, "method": "no/such"},
        {"jsonrpc": "1.0"},
        [],
        "text",
        None,
        {**_CALL, "params": {"name": "search", "arguments": [1]}},
    ):
        for version in ("2025-06-18", "2026-07-28", "nonsense"):
            with subtests.test(body=body, version=version):
                assert post(body, **{"MCP-Protocol-Version": version}).status_code < 500
