"""The SDK's client connects by OAuth alone: it registers, a person consents, tokens are renewed."""

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import pytest
from django.utils import timezone
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from kebab.identity.models import Membership, OAuthClient, PersonalToken, Role
from tests.api.mcp.clients import ERAS, PATIENCE_S
from tests.api.mcp.shelf import commit
from tests.support.actors import make_person

_CALLBACK = "http://127.0.0.1:9/callback"
_PASSWORD = "correct horse battery"
_CSRF = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


@dataclass
class Memory:
    """Memory of the client."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None
    registered: list = field(default_factory=list)

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client
        self.registered.append(client)


@dataclass
class Person:
    """The person's browser, which gets from the client's link to its callback."""

    url: str
    email: str
    workspace: str
    consents: int = 0
    returned: str = ""

    async def open(self, link):
        """Sign in, choose the workspace, and consent."""
        self.consents += 1
        async with httpx2.AsyncClient(base_url=self.url, follow_redirects=True, timeout=PATIENCE_S) as http:
            login = await http.get(link)
            fields = {"username": self.email, "password": _PASSWORD, "next": link.removeprefix(self.url)}
            page = await self._submit(http, login, "/login", fields)
            assert "SDK client" in page.text
            assert "127.0.0.1:9" in page.text
            http.follow_redirects = False
            chosen = {"workspaces": self.workspace, "decision": "allow"}
            answer = await self._submit(http, page, link, chosen)
            self.returned = answer.headers["Location"]

    async def _submit(self, http, page, path, fields):
        (token,) = set(_CSRF.findall(page.text))
        return await http.post(path, data={"csrfmiddlewaretoken": token, **fields})

    async def come_back(self):
        """Return what the callback got."""
        given = {name: value for name, (value,) in parse_qs(urlsplit(self.returned).query).items()}
        return AuthorizationCodeResult(**given)


@pytest.fixture
def person(url, shelf, settings):
    settings.KEBAB_CLIENT_LIMIT = "1000000/hour"

    def join():
        user = make_person("oauth@example.org")
        user.set_password(_PASSWORD)
        user.save()
        Membership.objects.create(workspace=shelf.workspace, user=user, role=Role.VIEWER)
        return user

    user = commit(join)
    yield Person(url=url, email=user.email, workspace=str(shelf.workspace.pk))
    commit(lambda: (user.delete(), OAuthClient.objects.all().delete()))


def connect(person, memory, work, mode="auto"):
    """Return the result of `work` with a client whose only tokens are in `memory`."""
    metadata = OAuthClientMetadata(client_name="SDK client", redirect_uris=[_CALLBACK], scope=None)
    auth = OAuthClientProvider(
        f"{person.url}/mcp",
        metadata,
        memory,
        redirect_handler=person.open,
        callback_handler=person.come_back,
    )

    async def run():
        with anyio.fail_after(PATIENCE_S):
            async with httpx2.AsyncClient(auth=auth, timeout=PATIENCE_S) as http:
                transport = streamable_http_client(f"{person.url}/mcp", http_client=http)
                async with Client(transport, mode=mode, read_timeout_seconds=PATIENCE_S) as client:
                    return await work(client, auth)

    return anyio.run(run)


async def list_tools(client, _):
    return (await client.list_tools()).tools


@pytest.mark.parametrize("era", ERAS)
def test_client_registers_asks_for_consent_and_calls_tools(person, era):
    memory = Memory()

    async def work(client, _):
        tools = await client.list_tools()
        found = await client.call_tool("search", {"query": "package manager"})
        (first, *_) = found.structured_content["results"]
        return tools.tools, found, await client.call_tool("fetch", {"id": first["id"]})

    tools, found, fetched = connect(person, memory, work, mode=era)
    assert all(tool.output_schema for tool in tools)
    assert not found.is_error
    assert "apt install kebab" in fetched.structured_content["text"]
    assert memory.registered[0].token_endpoint_auth_method == "none"
    assert memory.tokens.scope == "ask search"
    connect(person, memory, list_tools)
    assert person.consents == 1


def test_client_renews_its_token_and_asks_again_once_it_is_revoked(person):
    memory = Memory()

    async def renew(client, auth):
        before = memory.tokens
        auth.context.token_expiry_time = 1.0
        await client.list_tools(cache_mode="refresh")
        return before, memory.tokens

    first, second = connect(person, memory, renew)
    assert first.access_token != second.access_token
    assert first.refresh_token != second.refresh_token
    assert person.consents == 1
    commit(lambda: PersonalToken.objects.update(revoked_at=timezone.now()))
    connect(person, memory, list_tools)
    assert person.consents == 2
