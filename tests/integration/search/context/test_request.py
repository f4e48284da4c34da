"""Requests for a context pack: permissions, invalid fields and isolation of workspaces."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from kebab.identity.models import Role
from kebab.identity.reader import Reader
from search.context import ContextRequest, Surroundings, build_context_pack
from search.models import Source
from search.retrieval.types import SearchQuery
from tests.integration.search.context.workspace_files import index, put_file
from tests.support.actors import make_member, person_client, token_client

GUIDE = "# Guide\n\nThe pepper is in the pantry.\n\n## Salt\n\nSo is the salt.\n"
SECRET = "# Guide\n\nThe pepper is our treasure.\n\n## Salt\n\nHidden under the stairs.\n"


@pytest.fixture
def address(workspace):
    return f"/api/v1/workspaces/{workspace.slug}/context-pack"


@pytest.fixture
def guides(workspace, other_workspace):
    """Write a guide into each of the two workspaces, and return the write in the other one."""
    put_file(workspace, "guide.md", GUIDE)
    theirs = put_file(other_workspace, "guide.md", SECRET, source="theirs")
    index(workspace)
    index(other_workspace)
    return theirs


def test_viewers_and_tokens_for_search_may_ask(guides, workspace, address, reader):
    body = {"information_request": "pepper"}
    for client in (reader, person_client(make_member(workspace, Role.VIEWER))):
        response = client.post(address, body, format="json")
        assert response.status_code == 200
        assert response.json()["files"][0]["doc_path"] == "guide.md"
    response = token_client(workspace, "ingest").post(address, body, format="json")
    assert (response.status_code, response.json()["code"]) == (403, "forbidden")
    assert reader.post(f"{address}?k=1", body, format="json").status_code == 400
    assert reader.get(address).status_code == 405
    reader.credentials()
    assert reader.post(address, body, format="json").status_code == 401


def test_operators_in_an_information_request_are_plain_text(guides, address, reader):
    body = {"information_request": 'pepper "in the cellar" -pantry path:nowhere/'}
    assert reader.post(address, body, format="json").json()["files"][0]["doc_path"] == "guide.md"


def test_nothing_of_another_workspace_is_in_a_pack(guides, other_workspace, address, reader):
    body = {
        "information_request": "treasure hidden under the stairs, pepper",
        "technical_terms": ["treasure", "stairs"],
        "expand": {"neighbours": 5, "imports": True},
        "cutoff": False,
    }
    for mode in ("lexical", "vector", "hybrid"):
        response = reader.post(address, {**body, "mode": mode}, format="json")
        assert response.status_code == 200 and response.json()["files"]
        for secret in (b"Hidden under", b"our treasure", b"theirs", guides.doc_id.hex.encode()):
            assert secret not in response.content
    source = str(Source.objects.in_workspace(other_workspace).get().pk)
    for filters in ({"doc_id": [guides.doc_id.hex]}, {"source": [source]}, {"source": ["theirs"]}):
        body = {"information_request": "pepper", "filters": filters}
        assert reader.post(address, body, format="json").json()["files"] == []
    answers = [
        reader.post(f"/api/v1/workspaces/{slug}/context-pack", body, format="json")
        for slug in (other_workspace.slug, other_workspace.pk, "nowhere")
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1


def test_context_pack_sends_a_bounded_number_of_read_statements(guides, workspace, settings):
    settings.KEBAB_PLAN_ONCE = False  # statements are known by their texts here
    everything = Surroundings(neighbours=2, imports=True)
    request = ContextRequest.with_channels(SearchQuery(text="pepper"), surroundings=everything)

    def statements():
        with CaptureQueriesContext(connection) as asked:
            assert build_context_pack(workspace, Reader(), request).files
        # What a statement acts in, and how long it may take, is set in front of it: SET LOCAL …;SELECT …
        return [re.sub(r"^(SET LOCAL [^;]*;\s*)+", "", each["sql"]) for each in asked.captured_queries]

    few = statements()
    assert {statement.split()[0] for statement in few} == {"SELECT"}
    assert len([statement for statement in few if '"head_seq" AS' in statement]) == 1  # one scope
    for n in range(20):
        put_file(workspace, f"{n}.md", GUIDE)
        put_file(workspace, f"{n}.py", "import pepper\n")
    index(workspace)
    assert len(statements()) <= len(few) + 6


def test_invalid_field_is_refused_by_its_name(address, reader, subtests):
    broken = {"path_glob": ["notes/[abc"]}
    cases = [
        ("information_request", {"information_request": None}),
        ("technical_terms", {"technical_terms": "AuthService"}),
        ("technical_terms", {"technical_terms": ["a"] * 101}),
        ("technical_terms[0]", {"technical_terms": ["a" * 1_001]}),
        *(("budget", {"budget": each}) for each in (0, -1, 1.5, True, "4000", 1_000_001, {})),
        ("budget", {"budget": {"words": 9}}), ("budget", {"budget": {"chars": 9, "tokens": 9}}),
        ("budget", {"budget": {"tokens": None}}),
        ("k", {"k": 0}), ("k", {"k": 61}), ("mode", {"mode": "fuzzy"}), ("fusion", {"fusion": "best"}),
        ("filters.path_glob", {"filters": broken}), ("filters.x", {"filters": {"x": 1}}),
        ("filters.path_not_glob", {"filters": {"path_not_glob": ["notes/[abc"]}}),
        ("filters.code_lang", {"filters": {"code_lang": [""]}}), ("channels.x", {"channels": {"x": "a"}}),
        *(("expand.neighbours", {"expand": {"neighbours": each}}) for each in (6, -1)),
        ("expand.cousins", {"expand": {"cousins": True}}), ("response_mode", {"response_mode": "summary"}),
        *((name, {name: "perhaps"}) for name in ("by_file", "rerank", "cutoff", "per_file_cap")),
        ("min_seq", {"min_seq": -1}), ("q", {"q": "pepper"}), ("cursor", {"cursor": "x"}),
    ]  # fmt: skip
    for field, given in cases:
        with subtests.test(given=given):
            response = reader.post(address, {"information_request": "pepper", **given}, format="json")
            assert (response.status_code, response.json()["errors"][0]["field"]) == (400, field)
    response = reader.post(address, {"technical_terms": ["a"]}, format="json")
    assert (response.status_code, response.json()["errors"][0]["field"]) == (400, "information_request")


def test_any_text_is_answered_or_refused(guides, address, reader, subtests):
    for text in ("'foo OR'", "'", '"', "(", "*", "NOT", "a\ta", "𠜎" * 300, "x" * 200_000):
        with subtests.test(text=text[:9]):
            body = {"information_request": text, "technical_terms": [text[:900]]}
            assert reader.post(address, body, format="json").status_code in {200, 400}


def test_null_fields_and_min_seq_are_as_in_a_search(guides, workspace, address, reader):
    body = {"information_request": "pepper"}
    names = ("filters", "mode", "fusion", "channels", "per_file_cap", "min_seq")
    plain = reader.post(address, body, format="json").json()["files"]
    assert plain
    nulls = reader.post(address, body | dict.fromkeys(names), format="json")
    assert (nulls.status_code, nulls.json()["files"]) == (200, plain)
    put_file(workspace, "later.md", "# Thyme\n\nThyme.\n")
    workspace.refresh_from_db()
    body = {"information_request": "thyme", "mode": "lexical", "min_seq": workspace.head_seq}
    assert reader.post(address, body, format="json").json()["files"][0]["doc_path"] == "later.md"
