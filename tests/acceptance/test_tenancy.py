import uuid

import pytest


@pytest.fixture(scope="module")
def alice(make_client):
    return make_client()


@pytest.fixture(scope="module")
def bob(make_client):
    return make_client()


@pytest.fixture(scope="module")
def secret(alice):
    """Return the ids of a document of Alice's, its job, chunk and source."""
    for name in ("one", "two", "three"):
        uploaded = alice.upload(f"{name}.md", f"# Secret\n\nThe {name} treasure.\n", wait_for="searchable")
    chunk = alice.search("three treasure")["hits"][0]["chunk_id"]
    source = next(row for row in alice.get("/sources")["results"])
    return {
        "documents": uploaded["document"]["id"],
        "jobs": uploaded["job"]["id"],
        "chunks": chunk,
        "sources": source["id"],
    }


_ROUTES = [
    ("GET", "documents", ""),
    ("GET", "documents", "/content"),
    ("GET", "documents", "/chunks"),
    ("DELETE", "documents", ""),
    ("GET", "chunks", ""),
    ("GET", "jobs", ""),
    ("GET", "jobs", "/events"),
    ("GET", "jobs", "/items"),
    ("POST", "jobs", "/cancel"),
    ("POST", "jobs", "/retry"),
    ("GET", "sources", ""),
    ("DELETE", "sources", ""),
    ("POST", "sources", "/sync"),
    ("POST", "sources", "/test"),
]


def missing(kind: str) -> str:
    return uuid.uuid4().hex if kind in {"documents", "chunks"} else str(uuid.uuid4())


def comparable(response) -> tuple:
    """Return the parts by which a client can distinguish answers."""
    varying = {"date", "content-length", "ratelimit-remaining"}
    headers = {name: value for name, value in response.headers.items() if name not in varying}
    body = response.json()
    body.pop("instance", None)
    return response.status_code, body, headers


def test_ids_of_another_workspace_are_answered_like_missing_ids(alice, bob, secret):
    for method, kind, rest in _ROUTES:
        for workspace in (alice.slug, bob.slug):
            foreign = bob.request(method, f"/{kind}/{secret[kind]}{rest}", workspace=workspace)
            absent = bob.request(method, f"/{kind}/{missing(kind)}{rest}", workspace=workspace)
            assert foreign.status_code == 404, (method, kind, rest, workspace)
            assert comparable(foreign) == comparable(absent)
    assert len(alice.get("/documents")["results"]) == 3


def test_another_workspace_is_answered_like_a_missing_one(alice, bob, secret):
    for path, body in (("/search", {"q": "treasure"}), ("/documents", {"path": "x.md", "text": "x"})):
        foreign = bob.request("POST", path, workspace=alice.slug, json=body)
        assert foreign.status_code == 404
        assert comparable(foreign) == comparable(
            bob.request("POST", path, workspace="no-such-one", json=body)
        )
    for path in ("/documents", "/jobs", "/sources", "/members", "/tokens", ""):
        foreign = bob.request("GET", path, workspace=alice.slug)
        assert foreign.status_code == 404
        assert comparable(foreign) == comparable(bob.request("GET", path, workspace="no-such-one"))


def test_cursor_of_another_workspace_is_rejected(alice, bob, secret):
    cursor = alice.get("/documents", limit=1)["next_cursor"]
    bob.upload("own.md", "# Own\n\nMine.\n", wait_for="searchable")
    foreign = bob.request("GET", "/documents", params={"cursor": cursor, "limit": 1})
    garbled = bob.request("GET", "/documents", params={"cursor": f"x{cursor}", "limit": 1})
    assert foreign.status_code >= 400
    assert comparable(foreign) == comparable(garbled)


@pytest.mark.parametrize("name", ["doc_id", "source"])
def test_filter_by_values_of_another_workspace_equals_one_by_missing_values(alice, bob, secret, name):
    bob.upload("own.md", "# Own\n\nMy treasure.\n", wait_for="searchable")
    kind = {"doc_id": "documents", "source": "sources"}[name]

    def ask(value: str) -> tuple:
        answer = bob.request("POST", "/search", json={"q": "treasure", "filters": {name: [value]}})
        body = answer.json()
        return answer.status_code, body.get("hits"), body.get("code")

    assert ask(secret[kind]) == ask(missing(kind))
    assert not ask(secret[kind])[1]


def test_search_never_shows_documents_of_another_workspace(alice, bob, secret):
    bob.upload("own.md", "# Own\n\nMy treasure.\n", wait_for="searchable")
    for mode in ("lexical", "vector", "hybrid"):
        assert {hit["doc_path"] for hit in bob.search("treasure", mode=mode)["hits"]} <= {"own.md"}


def test_revoked_token_is_rejected_from_the_next_request_on(make_client, run_command):
    carol = make_client()
    assert carol.request("GET", "/documents").status_code == 200
    run_command("token", "revoke", carol.token)
    assert carol.request("GET", "/documents").status_code == 401
