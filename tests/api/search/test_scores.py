"""Scores of the lists that programs read: none is above one before it."""

import pytest

from tests.support.actors import make_workspace, token_client
from tests.support.corpus import chunk, write
from tests.support.search import embed, sync

pytestmark = pytest.mark.django_db(transaction=True)

QUERY = "annual leave of the workers"
TEXTS = (
    "Annual leave is granted to workers.",
    "Workers restart the leave list. Leave the list.",
    "Knead the dough for ten minutes.",
    "Workers of the night have annual bonuses and annual leave, annual leave.",
    "The annual report.",
)


@pytest.fixture
def workspace():
    workspace = make_workspace()
    for number, text in enumerate(TEXTS):
        write(workspace, f"{number}.md", chunk(text), chunk(f"# {text[:12]}", 1), title=text[:12])
    sync(workspace)
    embed(workspace)
    return workspace


def test_no_score_is_above_one_before_it_through_any_door(workspace, subtests):
    client = token_client(workspace, "search")
    own, api = f"/api/v1/workspaces/{workspace.slug}", "/api/v1"
    store = f"{api}/openai/vector_stores/{workspace.slug}"
    asked = {
        "search": (f"{own}/search", {"q": QUERY, "k": 9}),
        "documents": (f"{own}/search", {"q": QUERY, "group": "document"}),
        "rrf": (f"{own}/search", {"q": QUERY, "k": 9, "fusion": "rrf", "exact": False}),
        "several": (f"{api}/search", {"q": QUERY, "k": 9}),
        "dify": (
            f"{api}/dify/retrieval",
            {"knowledge_id": workspace.slug, "query": QUERY, "retrieval_setting": {"top_k": 9}},
        ),
        "openai": (f"{store}/search", {"query": QUERY, "max_num_results": 9}),
        "pack": (f"{own}/context-pack", {"information_request": QUERY}),
    }
    for door, (path, body) in asked.items():
        with subtests.test(door=door):
            response = client.post(path, body, format="json")
            assert response.status_code == 200, response.content
            answer = response.json()
            rows = next(answer[name] for name in ("hits", "records", "data", "files") if name in answer)
            scores = [row.get("hit", row)["score"] for row in rows]
            assert len(scores) > 2
            assert scores == sorted(scores, reverse=True)
            assert all(0 <= score <= 1 for score in scores)


def test_threshold_of_an_adapter_keeps_what_is_about_the_query(workspace):
    client = token_client(workspace, "search")

    def paths(threshold):
        setting = {"top_k": 9, "score_threshold": threshold}
        body = {"knowledge_id": workspace.slug, "query": "annual leave", "retrieval_setting": setting}
        records = client.post("/api/v1/dify/retrieval", body, format="json").json()["records"]
        return {record["metadata"]["path"] for record in records}

    assert {"0.md", "3.md"} <= paths(0.5) <= paths(0.2)
    assert "2.md" not in paths(0.2)
    assert paths(1.0) == set()
