import json

import pytest

from tests.acceptance import schemas
from tests.acceptance.notes import write_notes


@pytest.fixture(scope="module")
def filled(client, verb, tmp_path_factory):
    notes = write_notes(tmp_path_factory.mktemp("notes"))
    verb("ingest", str(notes), "--workspace", client.slug, "--source", "notes", "--tag", "sea")
    return client


def hits_text(body: str) -> str:
    """The hits as written: numbers keep their digits."""
    return json.dumps(json.loads(body, parse_float=str)["hits"])


@pytest.mark.parametrize("mode", ["lexical", "vector", "hybrid"])
def test_verb_and_http_give_the_same_hits_again_and_again(filled, stack, mode):
    def ask() -> tuple[str, str]:
        printed = stack.run(
            "search", "care of the lantern", "--workspace", filled.slug, "--mode", mode, "--json"
        )
        answer = filled.request("POST", "/search", json={"q": "care of the lantern", "mode": mode})
        return printed.stdout, answer.text

    bodies = [body for _ in range(2) for body in ask()]
    for body in bodies:
        schemas.check(json.loads(body), "search_response.v1")
    assert json.loads(bodies[0])["hits"]
    assert {hits_text(body) for body in bodies} == {hits_text(bodies[0])}


def test_filters_mean_the_same_at_both_doors(filled, stack):
    options = ("--tag", "sea", "--path-glob", "g*.md", "-k", "3")
    printed = stack.run("search", "all about it", "--workspace", filled.slug, *options, "--json").stdout
    filters = {"tags_any": ["sea"], "path_glob": ["g*.md"]}
    answer = filled.request("POST", "/search", json={"q": "all about it", "k": 3, "filters": filters})
    assert hits_text(printed) == hits_text(answer.text)
    assert {hit["doc_path"] for hit in answer.json()["hits"]} == {"glacier.md"}


@pytest.mark.slow
def test_errors_have_their_schemas(filled, stack):
    refused = stack.run("search", "lantern", "--workspace", "no-such-one", "--json")
    assert (refused.returncode, refused.stdout) == (1, "")
    schemas.check(json.loads(refused.stderr), "error.v1")
    unknown = filled.request("POST", "/search", workspace="no-such-one", json={"q": "lantern"})
    assert unknown.status_code == 404
    schemas.check(unknown.json(), "problem.v1")


@pytest.mark.slow
def test_search_that_finds_nothing_says_so_by_its_status(filled, stack):
    nothing = stack.run("search", "zzyzx", "--workspace", filled.slug, "--mode", "lexical", "--json")
    assert nothing.returncode == 1
    assert json.loads(nothing.stdout)["hits"] == []


@pytest.mark.slow
def test_second_stack_and_taken_port_are_refused(stack, tmp_path):
    second = stack.run("up")
    assert second.returncode == 2
    assert f"already runs on {stack.data_dir}" in second.stderr
    environment, stack.environment = stack.environment, {**stack.environment, "KEBAB_DATA_DIR": str(tmp_path)}
    try:
        refused = stack.run("up", "--json")
    finally:
        stack.environment = environment
    assert refused.returncode == 2
    assert json.loads(refused.stderr)["code"] == "port_taken"
