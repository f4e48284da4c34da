"""Who may ask for a context pack, and for what; and what nobody gets to see by it."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from kebab.people.models import Role
from kebab.people.reader import Reader
from search.context import ContextRequest, Surroundings, build_context_pack
from search.models import Source
from search.retrieval.types import SearchQuery
from tests.integration.search.context.filling import index, put
from tests.support.actors import make_member, person_client, token_client

GUIDE = "# Guide\n\nThe pepper is in the pantry.\n\n## Salt\n\nSo is the salt.\n"
SECRET = "# Guide\n\nThe pepper is our treasure.\n\n## Salt\n\nHidden under the stairs.\n"


@pytest.fixture
def address(workspace):
    return f"/api/v1/workspaces/{workspace.slug}/context-pack"


@pytest.fixture
def filled(workspace, other_workspace):
    put(workspace, "guide.md", GUIDE)
    theirs = put(other_workspace, "guide.md", SECRET, source="theirs")
    index(workspace)
    index(other_workspace)
    return theirs


def test_a_viewer_and_a_token_for_search_may_ask(filled, workspace, address, reader):
    body = {"information_request": "pepper"}
    for client in (reader, person_client(make_member(workspace, Role.VIEWER))):
        response = client.post(address, body, format="json")
        assert response.status_code == 200
        assert response.json()["files"][0]["doc_path"] == "guide.md"


def test_a_token_for_something_else_may_not(workspace, address):
    client = token_client(workspace, "ingest")
    response = client.post(address, {"information_request": "pepper"}, format="json")
    assert (response.status_code, response.json()["code"]) == (403, "forbidden")


def test_who_has_not_signed_in_may_not(address, reader):
    reader.credentials()
    assert reader.post(address, {"information_request": "pepper"}, format="json").status_code == 401


def test_another_workspace_is_not_there(filled, other_workspace, reader):
    body = {"information_request": "pepper"}
    answers = [
        reader.post(f"/api/v1/workspaces/{slug}/context-pack", body, format="json")
        for slug in (other_workspace.slug, other_workspace.pk, "nowhere")
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1


@pytest.mark.parametrize("mode", ["lexical", "vector", "hybrid"])
def test_nothing_of_another_workspace_is_in_a_pack(filled, address, reader, mode):
    body = {
        "information_request": "treasure hidden under the stairs, pepper",
        "technical_terms": ["treasure", "stairs"],
        "mode": mode,
        "expand": {"neighbours": 5, "imports": True},
        "cutoff": False,
    }
    response = reader.post(address, body, format="json")
    assert response.status_code == 200 and response.json()["files"]
    for secret in (b"Hidden under", b"our treasure", b"theirs", filled.doc_id.hex.encode()):
        assert secret not in response.content


def test_a_filter_by_another_workspace_s_ids_finds_nothing(filled, other_workspace, address, reader):
    source = str(Source.objects.in_workspace(other_workspace).get().pk)
    for filters in ({"doc_id": [filled.doc_id.hex]}, {"source": [source]}, {"source": ["theirs"]}):
        body = {"information_request": "pepper", "filters": filters}
        assert reader.post(address, body, format="json").json()["files"] == []


def test_what_is_as_in_a_search_may_be_null_as_there(filled, address, reader):
    body = {"information_request": "pepper"}
    names = ("filters", "mode", "fusion", "channels", "per_file_cap", "min_seq")
    nulls = reader.post(address, body | dict.fromkeys(names), format="json")
    assert nulls.status_code == 200, nulls.content
    assert nulls.json()["files"] == reader.post(address, body, format="json").json()["files"]


def test_making_a_pack_writes_nothing(filled, workspace, settings):
    settings.KEBAB_PLAN_ONCE = False  # statements are known by their texts here
    everything = Surroundings(neighbours=2, imports=True)
    request = ContextRequest.asking(SearchQuery(text="pepper"), surroundings=everything)
    with CaptureQueriesContext(connection) as asked:
        assert build_context_pack(workspace, Reader(), request).files
    # What a statement acts in, and how long it may take, is set in front of it: SET LOCAL …;SELECT …
    statements = [re.sub(r"^(SET LOCAL [^;]*;\s*)+", "", each["sql"]) for each in asked.captured_queries]
    assert {statement.split()[0] for statement in statements} == {"SELECT"}
    assert len([statement for statement in statements if '"head_seq" AS' in statement]) == 1  # one scope


def test_a_pack_reads_postgres_a_bounded_number_of_times(workspace, filled, address, reader):
    def statements(request):
        with CaptureQueriesContext(connection) as asked:
            reader.post(address, {"information_request": request, "expand": {"imports": True}}, format="json")
        return len(asked.captured_queries)

    few = statements("pepper")
    for n in range(20):
        put(workspace, f"{n}.md", GUIDE)
        put(workspace, f"{n}.py", "import pepper\n")
    index(workspace)
    assert statements("pepper") <= few + 6


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"information_request": None}, "information_request"),
        ({"technical_terms": "AuthService"}, "technical_terms"),
        ({"technical_terms": ["a"] * 101}, "technical_terms"),
        ({"technical_terms": ["a" * 1_001]}, "technical_terms[0]"),
        ({"budget": 0}, "budget"),
        ({"budget": -1}, "budget"),
        ({"budget": 1.5}, "budget"),
        ({"budget": True}, "budget"),
        ({"budget": "4000"}, "budget"),
        ({"budget": 1_000_001}, "budget"),
        ({"budget": {"words": 9}}, "budget"),
        ({"budget": {"chars": 9, "tokens": 9}}, "budget"),
        ({"budget": {}}, "budget"),
        ({"budget": {"tokens": None}}, "budget"),
        ({"k": 0}, "k"),
        ({"k": 61}, "k"),
        ({"mode": "fuzzy"}, "mode"),
        ({"fusion": "best"}, "fusion"),
        ({"filters": {"path_glob": ["notes/[abc"]}}, "filters.path_glob"),
        ({"filters": {"x": 1}}, "filters.x"),
        ({"channels": {"x": "a"}}, "channels.x"),
        ({"expand": {"neighbours": 6}}, "expand.neighbours"),
        ({"expand": {"neighbours": -1}}, "expand.neighbours"),
        ({"expand": {"cousins": True}}, "expand.cousins"),
        ({"filters": {"path_not_glob": ["notes/[abc"]}}, "filters.path_not_glob"),
        ({"filters": {"code_lang": [""]}}, "filters.code_lang"),
        ({"response_mode": "summary"}, "response_mode"),
        ({"by_file": "perhaps"}, "by_file"),
        ({"rerank": "perhaps"}, "rerank"),
        ({"cutoff": "perhaps"}, "cutoff"),
        ({"per_file_cap": "x"}, "per_file_cap"),
        ({"min_seq": -1}, "min_seq"),
        ({"q": "pepper"}, "q"),
        ({"cursor": "x"}, "cursor"),
    ],
)
def test_what_is_wrong_is_refused_by_its_name(address, reader, given, field):
    response = reader.post(address, {"information_request": "pepper", **given}, format="json")
    assert response.status_code == 400
    assert response.json()["errors"][0]["field"] == field


def test_a_request_is_needed(address, reader):
    response = reader.post(address, {"technical_terms": ["a"]}, format="json")
    assert (response.status_code, response.json()["errors"][0]["field"]) == (400, "information_request")


def test_it_takes_no_parameters_and_no_get(address, reader):
    body = {"information_request": "pepper"}
    assert reader.post(f"{address}?k=1", body, format="json").status_code == 400
    assert reader.get(address).status_code == 405


@pytest.mark.parametrize(
    "request_", ["'foo OR'", "'", '"', "(", "*", "NOT", "a\ta", "𠜎" * 300, "x" * 200_000]
)
def test_nothing_that_is_typed_is_an_error_of_ours(filled, address, reader, request_):
    response = reader.post(
        address, {"information_request": request_, "technical_terms": [request_[:900]]}, format="json"
    )
    assert response.status_code in {200, 400}


def test_k_is_the_most_hits_that_a_pack_begins_with(workspace, ask_for):
    for n in range(4):
        put(workspace, f"{n}.md", f"# N\n\nPepper {n}.\n")
    index(workspace)
    assert len(ask_for("pepper", k=2)["files"]) == 2
    assert len(ask_for("pepper")["files"]) == 4


def test_it_waits_for_the_change_that_is_asked_for(workspace, ask_for):
    put(workspace, "guide.md", GUIDE)
    workspace.refresh_from_db()
    assert ask_for("pepper", mode="lexical", min_seq=workspace.head_seq)["files"]
