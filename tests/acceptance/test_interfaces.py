import json

import pytest

from tests.acceptance import schemas
from tests.acceptance.notes import write_notes


@pytest.fixture(scope="module")
def filled_client(client, run_command, tmp_path_factory):
    notes = write_notes(tmp_path_factory.mktemp("notes"))
    run_command("ingest", str(notes), "--workspace", client.slug, "--source", "notes", "--tag", "sea")
    return client


def hits_text(body: str) -> str:
    """Return the hits as text; equal numbers have equal digits."""
    return json.dumps(json.loads(body)["hits"])


@pytest.mark.parametrize("mode", ["lexical", "vector", "hybrid"])
def test_command_and_http_return_the_same_hits_repeatedly(filled_client, stack, mode):
    def ask() -> tuple[str, str]:
        printed = stack.run(
            "search", "care of the lantern", "--workspace", filled_client.slug, "--mode", mode, "--json"
        )
        answer = filled_client.request("POST", "/search", json={"q": "care of the lantern", "mode": mode})
        return printed.stdout, answer.text

    bodies = [body for _ in range(2) for body in ask()]
    for body in bodies:
        schemas.check(json.loads(body), "search_response.v1")
    assert json.loads(bodies[0])["hits"]
    assert {hits_text(body) for body in bodies} == {hits_text(bodies[0])}


def test_filters_work_alike_in_command_and_http(filled_client, stack):
    options = ("--tag", "sea", "--path-glob", "g*.md", "-k", "3")
    printed = stack.run(
        "search", "all about it", "--workspace", filled_client.slug, *options, "--json"
    ).stdout
    filters = {"tags_any": ["sea"], "path_glob": ["g*.md"]}
    answer = filled_client.request("POST", "/search", json={"q": "all about it", "k": 3, "filters": filters})
    assert hits_text(printed) == hits_text(answer.text)
    assert {hit["doc_path"] for hit in answer.json()["hits"]} == {"glacier.md"}


@pytest.mark.slow
def test_errors_match_their_schemas(filled_client, stack):
    refused = stack.run("search", "lantern", "--workspace", "no-such-one", "--json")
    assert (refused.returncode, refused.stdout) == (2, "")
    schemas.check(json.loads(refused.stderr), "error.v1")
    unknown = filled_client.request("POST", "/search", workspace="no-such-one", json={"q": "lantern"})
    assert unknown.status_code == 404
    schemas.check(unknown.json(), "problem.v1")


@pytest.mark.slow
def test_search_without_hits_has_its_own_exit_status(filled_client, stack):
    nothing = stack.run("search", "zzyzx", "--workspace", filled_client.slug, "--mode", "lexical", "--json")
    assert nothing.returncode == 1
    assert json.loads(nothing.stdout)["hits"] == []


@pytest.mark.slow
def test_second_stack_and_used_port_are_rejected(stack, tmp_path):
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
