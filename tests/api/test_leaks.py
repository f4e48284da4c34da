"""What one may not see does not exist: every address answers for another workspace's ids as for none."""

import uuid

import pytest
from django.utils import timezone

from ingest.api.urls import urlpatterns as ingest_patterns
from ingest.models import Job
from search.api.urls import urlpatterns as search_patterns
from search.libraries.standing import refresh_standing
from search.models import Chunk, EmbeddingSpace, Source
from tests.api.making import address, quarantine
from tests.api_plumbing.actors import Role, make_member, person_client, token_client
from tests.corpus.making import write

# Name of the URL pattern, tail of the address, method and body.
REQUESTS = [
    ("api-document", "/documents/{doc}", "get", None),
    ("api-document", "/documents/{doc}", "patch", {"title": "x"}),
    ("api-document", "/documents/{doc}", "delete", None),
    ("api-document-content", "/documents/{doc}/content", "get", None),
    ("api-document-chunks", "/documents/{doc}/chunks", "get", None),
    ("api-chunk", "/chunks/{chunk}?context=1", "get", None),
    ("api-source", "/sources/{source}", "get", None),
    ("api-source", "/sources/{source}", "patch", {"title": "x"}),
    ("api-source", "/sources/{source}", "patch", {"credentials": {"token": "x"}}),
    ("api-source", "/sources/{source}", "delete", None),
    ("api-source-sync", "/sources/{source}/sync", "post", None),
    ("api-source-versions", "/sources/{source}/versions", "get", None),
    ("api-source-versions", "/sources/{source}/versions", "post", {"tag": "v1"}),
    ("api-source-versions", "/sources/{source}/versions?tag=v1", "delete", None),
    ("api-snippet-search", "/libs/snippets?libraryId={library}&query=a", "get", None),
    ("api-snippet-search", "/libs/snippets?libraryId={library}@v1&query=a", "get", None),
    ("api-context", "/context?libraryId={library}&query=a", "get", None),
    ("api-context", "/context?libraryId={library}/v1&query=a&type=txt", "get", None),
    ("api-embedding-space", "/embedding/spaces/{space}", "delete", None),
    ("api-job", "/jobs/{job}", "get", None),
    ("api-job-items", "/jobs/{job}/items", "get", None),
    ("api-job-events", "/jobs/{job}/events", "get", None),
    ("api-job-cancel", "/jobs/{job}/cancel", "post", None),
    ("api-job-retry", "/jobs/{job}/retry", "post", None),
    ("api-quarantined", "/quarantine/{quarantined}", "delete", None),
    ("api-quarantine-retry", "/quarantine/{quarantined}/retry", "post", None),
]
ID_AS_PARAMETER = {"api-snippet-search", "api-context"}
LISTS = ["/documents", "/sources", "/jobs", "/quarantine"]


@pytest.fixture
def theirs(other_workspace):
    """Ids of what there is in another workspace."""
    written = write(other_workspace, "secret.md", "a secret")
    write(other_workspace, "secret.md", "a secret", version="v1")
    source = Source.objects.in_workspace(other_workspace).get()
    refresh_standing(other_workspace.pk, source.pk, last_indexed_at=timezone.now())
    return {
        "doc": written.doc_id.hex,
        "chunk": Chunk.objects.in_workspace(other_workspace).first().chunk_id.hex,
        "source": str(source.pk),
        "library": source.library_id,
        "job": str(Job.objects.create(workspace=other_workspace, kind="embed").pk),
        "quarantined": str(quarantine(other_workspace, source.versions.first(), "bomb.md").pk),
        "space": str(
            EmbeddingSpace.objects.create(workspace=other_workspace, model="m", revision="1", dim=2).pk
        ),
    }


@pytest.fixture
def missing():
    """Ids of what there is nowhere."""
    return {
        "doc": uuid.uuid4().hex,
        "chunk": uuid.uuid4().hex,
        "source": str(uuid.uuid4()),
        "library": f"/local/{uuid.uuid4()}",
        "job": str(uuid.uuid4()),
        "quarantined": str(2**40),
        "space": "999999999",
    }


@pytest.fixture(params=["token", "person"])
def caller(request, workspace, other_workspace):
    if request.param == "token":
        return token_client(workspace, "search", "ingest", "manage", "ask")
    return person_client(make_member(workspace, Role.OWNER))


def send(caller, path, method, body):
    options = {} if method == "get" else {"format": "json"}
    return getattr(caller, method)(path, body, **options)


@pytest.mark.parametrize(("name", "tail", "method", "body"), REQUESTS)
def test_another_workspaces_ids_are_like_missing_ones(
    caller, workspace, other_workspace, theirs, missing, name, tail, method, body
):
    answers = [
        send(caller, address(workspace, tail.format(**theirs)), method, body),
        send(caller, address(workspace, tail.format(**missing)), method, body),
        send(caller, address(other_workspace, tail.format(**theirs)), method, body),
        send(caller, f"/api/v1/workspaces/nowhere{tail.format(**theirs)}", method, body),
    ]

    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1
    assert answers[0].json()["code"] == "not_found"


def test_every_address_with_an_id_is_tried_above():
    patterns = [*search_patterns, *ingest_patterns]
    with_ids = {pattern.name for pattern in patterns if "_id>" in str(pattern.pattern)}

    assert with_ids | ID_AS_PARAMETER == {name for name, *_ in REQUESTS}


def test_another_workspaces_libraries_are_not_found(caller, workspace, other_workspace, theirs):
    for name in ("docs", "secret", "/"):
        path = address(workspace, f"/libs/search?libraryName={name}&query=secret")
        assert caller.get(path).json()["results"] == []
    assert caller.get(address(other_workspace, "/libs/search?libraryName=docs")).status_code == 404


def test_a_context_pack_holds_nothing_of_another_workspace(caller, workspace, other_workspace, theirs):
    for filters in ({}, {"doc_id": [theirs["doc"]]}, {"source": [theirs["source"]]}):
        body = {"information_request": "a secret", "filters": filters, "expand": {"imports": True}}
        answer = caller.post(address(workspace, "/context-pack"), body, format="json")
        assert (answer.status_code, answer.json()["files"]) == (200, [])
        assert caller.post(address(other_workspace, "/context-pack"), body, format="json").status_code == 404


def test_the_embedding_tells_nothing_of_another_workspace(caller, workspace, other_workspace, theirs):
    answer = caller.get(address(workspace, "/embedding")).json()
    assert (answer["chunks"], answer["live"], answer["retired"], answer["job"]) == (0, None, [], None)
    for tail, method in (("", "get"), ("", "post"), ("/switch", "post"), ("/rollback", "post")):
        assert send(caller, address(other_workspace, f"/embedding{tail}"), method, {}).status_code == 404


def test_nothing_of_another_workspace_is_suggested(caller, workspace, other_workspace, theirs):
    for typed in ("s", "secret", "guide"):
        assert caller.get(address(workspace, f"/suggest?q={typed}")).json()["suggestions"] == []
    assert caller.get(address(other_workspace, "/suggest?q=secret")).status_code == 404


@pytest.mark.parametrize("tail", LISTS)
def test_lists_hold_nothing_of_another_workspace(caller, workspace, theirs, tail):
    assert caller.get(address(workspace, tail)).json() == {"results": [], "next_cursor": None}


@pytest.mark.parametrize("tail", LISTS)
def test_a_list_of_another_workspace_is_not_there(caller, other_workspace, theirs, tail):
    assert caller.get(address(other_workspace, tail)).status_code == 404


def test_a_filter_by_another_workspaces_ids_finds_nothing(caller, workspace, theirs):
    for query in (f"source={theirs['source']}", "source=docs"):
        assert caller.get(address(workspace, f"/documents?{query}")).json()["results"] == []


def test_a_site_that_another_workspace_reads_is_like_any_other(caller, workspace, other_workspace):
    config = {"url": "https://docs.example.org/"}
    Source.objects.create(workspace=other_workspace, key="site", kind="web", config=config)
    body = {"key": "site", "kind": "web", "config": config}
    made = caller.post(address(workspace, "/sources"), body, format="json")

    assert made.status_code == 201
    assert [row["id"] for row in caller.get(address(workspace, "/sources")).json()["results"]] == [
        made.json()["id"]
    ]


def test_nothing_is_uploaded_into_another_workspaces_source(caller, workspace, theirs):
    body = {"path": "a.md", "text": "a", "source": theirs["source"]}
    response = caller.post(address(workspace, "/documents"), body, format="json")

    assert (response.status_code, response.json()["code"]) == (422, "unknown_source")


@pytest.mark.parametrize("tail", ["/search?q=a", "/suggest?q=a", "/libs/search?libraryName=a", *LISTS])
def test_nobody_gets_in_without_signing_in(client, workspace, tail):
    client.credentials()

    assert client.get(address(workspace, tail)).status_code == 401
