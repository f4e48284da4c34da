"""Requests count under their callers, however they spell them, once a view has verified them."""

import uuid
from io import BytesIO
from ipaddress import ip_network
from itertools import product

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.handlers.asgi import ASGIRequest

from kebab.errors import NotFound
from kebab.http.admission import gate as callers_module
from kebab.http.admission.gate import Callers
from kebab.identity.caller import access_of_request, caller_of
from kebab.identity.tokens import mint_token
from tests.support.actors import make_member

WORKSPACE = uuid.UUID("0b7e3cb6-5a55-4d3f-9a4e-0a5d2f6c1b90")
SPELLINGS = [
    str(WORKSPACE),
    WORKSPACE.hex,
    WORKSPACE.hex.upper(),
    f"{{{WORKSPACE}}}",
    WORKSPACE.urn,
    "-".join(WORKSPACE.hex),
]
TOKEN = (b"authorization", b"Bearer kbb_a_b")
SESSION = (b"cookie", b"csrftoken=x; sessionid=abc123; other=y")
SEARCH = "/api/v1/workspaces/w/search"


def scope(path, *headers, client="10.0.0.1"):
    return {"type": "http", "path": path, "headers": list(headers), "client": (client, 5)}


@pytest.fixture
def now():
    return [0.0]


@pytest.fixture
def callers(now):
    """Return the callers with a token of the workspace `own`, and a person who reads two workspaces."""
    known = Callers(lambda: now[0])
    known.learn(scope(SEARCH, TOKEN), {"kebab.caller": "own"}, 200)
    for name, id_ in [("w", "id-w"), (str(WORKSPACE), str(WORKSPACE))]:
        record = {"kebab.caller": "user:1", "kebab.workspace": id_}
        known.learn(scope(f"/w/{name}/search", SESSION), record, 200)
    return known


#: Requests, and the names that they count under.
NAMES = [
    (scope(SEARCH, TOKEN), "own"),
    (scope("/api/v1/dify/retrieval", TOKEN), "own"),
    (scope("/mcp", TOKEN), "own"),
    (scope("/api/v1/workspaces/other/search", TOKEN), "own"),
    (scope("/api/v1/search", (b"authorization", b" bearer   kbb_a_b ")), "own"),
    (scope("/w/w/search", SESSION), "id-w"),
    (scope(SEARCH, SESSION), "id-w"),
    (scope("/w/unseen/search", SESSION), "user:1"),
    (scope("/profile", SESSION), "user:1"),
    *((scope(f"/w/{spelling}/search", SESSION), str(WORKSPACE)) for spelling in SPELLINGS),
    (scope(SEARCH), "10.0.0.1"),
    (scope(SEARCH, (b"authorization", b"Bearer kbb_made_up")), "10.0.0.1"),
    (scope(SEARCH, TOKEN, TOKEN), "10.0.0.1"),
    (scope("/w/w/search", TOKEN), "10.0.0.1"),
    (scope("/w/w/search", (b"cookie", b"sessionid=made0up")), "10.0.0.1"),
    (scope("/w/w/search", SESSION, SESSION), "10.0.0.1"),
    (scope("/w/w/search", (b"cookie", b"xsessionid=abc123")), "10.0.0.1"),
    (scope("/x", client="2001:db8::1"), "2001:db8::/64"),
    (scope("/login"), "log in 10.0.0.1"),
    (scope("/login/oidc/callback"), "log in 10.0.0.1"),
    (scope("/loginx"), "10.0.0.1"),
    (scope("/x", (b"x-forwarded-for", b"8.8.8.8")), "10.0.0.1"),
    (scope("/x", (b"x-forwarded-for", b"9.9.9.9, 8.8.8.8"), client="127.0.0.1"), "8.8.8.8"),
    (
        scope("/x", (b"x-forwarded-for", b"9.9.9.9"), (b"x-forwarded-for", b"8.8.8.8"), client="127.0.0.1"),
        "8.8.8.8",
    ),
    ({"type": "http", "path": "/x", "headers": [], "client": None}, "unknown"),
]


def test_request_is_charged_to_its_workspace_caller_or_address(callers, settings, subtests):
    settings.KEBAB_TRUSTED_PROXIES = [ip_network("127.0.0.1/32")]
    for request, name in NAMES:
        with subtests.test(path=request["path"], headers=request["headers"]):
            assert callers.name_of(request) == name


def test_credential_is_forgotten_when_it_is_refused_and_after_ten_minutes(callers, now):
    callers.learn(scope(SEARCH, TOKEN), {}, 404)
    assert callers.name_of(scope(SEARCH, TOKEN)) == "own"
    callers.learn(scope("/api/v1/search", TOKEN), {}, 401)
    assert callers.name_of(scope(SEARCH, TOKEN)) == "10.0.0.1"
    now[0] = 599.0
    assert callers.name_of(scope("/w/w/search", SESSION)) == "id-w"
    now[0] = 601.0
    assert callers.name_of(scope("/w/w/search", SESSION)) == "10.0.0.1"


def test_credentials_that_were_not_used_for_longest_are_forgotten_first(callers, monkeypatch):
    monkeypatch.setattr(callers_module, "_REMEMBERED", 4)
    for number in range(2):
        callers.learn(scope("/mcp", (b"authorization", b"Bearer %d" % number)), {"kebab.caller": str(number)})
    assert callers.name_of(scope("/mcp", TOKEN)) == "10.0.0.1"
    assert callers.name_of(scope("/mcp", (b"authorization", b"Bearer 0"))) == "0"


def test_caller_and_workspace_are_recorded_for_admission(rf, workspace):
    token, _ = mint_token(workspace, scopes=("search",))
    person = make_member(workspace)
    scope_of_asgi = {"type": "http", "method": "GET", "path": "/", "headers": []}
    requests = [(rf.get("/"), "META"), (ASGIRequest(scope_of_asgi, BytesIO()), "scope")]
    for (request, place), found in product(requests, [{"auth": token}, {"user": person}]):
        request.auth, request.user = found.get("auth"), found.get("user")
        access_of_request(request, workspace.slug)
        with pytest.raises(NotFound):
            access_of_request(request, "missing")
        own = str(workspace.pk)
        record = getattr(request, place)
        # The name of a token's caller is that of its workspace.
        expected = (own, None) if request.auth else (f"user:{person.pk}", own)
        assert (record.pop("kebab.caller"), record.pop("kebab.workspace", None)) == expected


def test_anonymous_request_records_no_caller(rf):
    request = rf.get("/")
    request.user = AnonymousUser()
    assert caller_of(request) is None
    assert "kebab.caller" not in request.META
