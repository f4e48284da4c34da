"""`kebab search`."""

import jsonschema
import pytest
from django.core.management import CommandError

from kebab.cli.errors import Exit
from search.retrieval.types import Mode
from search.wire.schemas import inlined_schema
from tests.cli.running import error_of, run, run_json
from tests.support.corpus import chunk, make_workspace, write, write_each
from tests.support.searching import ask, embed


@pytest.fixture
def corpus(workspace):
    write(workspace, "guides/a.md", "apple pear", tags=("fruit",), lang="en", trust_level="primary")
    write(workspace, "notes/b.md", "apple plum", tags=("note",), lang="de", source="notes")
    write(workspace, "guides/c.md", "apple fig", version="v2")
    embed(workspace)
    return workspace


def paths(document):
    return [hit["doc_path"] for hit in document["hits"]]


def test_the_document_is_the_same_as_over_http(corpus):
    write_each(corpus, ["apple"] * 12)
    embed(corpus)
    printed = run_json("search", "apple")
    expected = ask(corpus, "apple", Mode.HYBRID, k=10)

    assert printed["schema_version"] == "search_response.v1"
    assert [hit["chunk_id"] for hit in printed["hits"]] == [hit.chunk_id for hit in expected.hits]
    assert len(printed["hits"]) == 10
    assert (printed["mode"], printed["lag"]) == ("hybrid", 0)


def test_what_is_committed_is_found_at_once_without_a_mirror_process(workspace):
    write(workspace, "a.md", "apple")
    assert paths(run_json("search", "apple", "--mode", "lexical")) == ["a.md"]
    write(workspace, "b.md", "apple")
    assert sorted(paths(run_json("search", "apple", "--mode", "lexical"))) == ["a.md", "b.md"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--tag", "fruit"), ["guides/a.md"]),
        (("--lang", "de"), ["notes/b.md"]),
        (("--lang", "de", "--lang", "fr"), ["notes/b.md"]),
        (("--path-glob", "guides/*.md"), ["guides/a.md"]),
        (("--path-not-glob", "guides/*.md"), ["notes/b.md"]),
        (("--source", "notes"), ["notes/b.md"]),
        (("--trust-min", "primary"), ["guides/a.md"]),
        (("--version", "v2"), ["guides/c.md"]),
        ((), ["guides/a.md", "notes/b.md"]),
    ],
)
@pytest.mark.parametrize("mode", ["lexical", "vector", "hybrid"])
def test_each_filter_narrows(corpus, mode, arguments, expected):
    assert sorted(paths(run_json("search", "apple", "--mode", mode, *arguments))) == expected


def test_code_is_narrowed_by_its_language(corpus):
    write(corpus, "a.py", chunk("apple", kind="code", language="python"))
    assert paths(run_json("search", "apple", "--mode", "lexical", "--code-lang", "py")) == ["a.py"]


def test_k_limits_the_hits(corpus):
    assert len(run_json("search", "apple", "-k", "1")["hits"]) == 1


def test_the_workspaces_own_k_is_the_default(corpus):
    corpus.settings = {"default_k": 1}
    corpus.save()
    assert len(run_json("search", "apple")["hits"]) == 1


def test_an_explanation_comes_on_request(corpus):
    assert run_json("search", "apple", "--explain")["explain"]["timings_ms"]
    assert run_json("search", "apple")["explain"] is None
    assert "chunk id" in run("search", "apple", "--explain")[1]


def test_the_cursor_of_one_run_gives_the_next_page_in_another(corpus):
    write_each(corpus, ["apple"] * 12)
    whole = run_json("search", "apple", "--mode", "lexical", "-k", "20")["hits"]
    first = run_json("search", "apple", "--mode", "lexical", "-k", "5")
    second = run_json("search", "--cursor", first["next_cursor"], "-k", "4")

    assert first["hits"] + second["hits"] == whole[:9]
    assert f"--cursor {first['next_cursor']}" in run("search", "apple", "--mode", "lexical", "-k", "5")[2]


def test_a_cursor_takes_no_other_query_beside_it(corpus):
    cursor = run_json("search", "apple", "-k", "1")["next_cursor"]
    assert (
        error_of("search", "--cursor", cursor, "--lang", "de", code=Exit.ERROR)["code"] == "invalid_arguments"
    )
    with pytest.raises(CommandError):
        run("search", "apple", "--cursor", cursor)


def test_a_cursor_that_opens_nothing_is_refused(corpus):
    assert error_of("search", "--cursor", "00", code=Exit.NOTHING)["code"] == "stale_cursor"


def test_the_cap_is_on_the_hits_of_one_document(corpus):
    write(corpus, "many.md", "apple one", "apple two", "apple three")
    capped = paths(run_json("search", "apple", "--mode", "lexical", "--per-file-cap", "1"))

    assert capped.count("many.md") == 1
    assert paths(run_json("search", "apple", "--mode", "lexical")).count("many.md") == 3


def test_a_reranker_is_asked_for_and_missed(corpus):
    assert run_json("search", "apple", "--rerank")["rerank"]["status"] == "fallback"
    assert "without a reranker" in run("search", "apple", "--rerank")[2]


def test_the_cutoff_ends_the_list(corpus):
    write_each(corpus, ["apple"] * 12)
    assert len(run_json("search", "apple", "-k", "14")["hits"]) == 14
    assert len(run_json("search", "apple", "-k", "14", "--cutoff")["hits"]) == 8


def test_the_fusion_is_chosen(corpus):
    def scores(fusion):
        return [hit["score"] for hit in run_json("search", "apple pear", "--fusion", fusion)["hits"]]

    assert scores("rrf") != scores("convex")


def test_why_not_names_the_gate(corpus):
    chunk_id = run_json("search", "pear", "--mode", "lexical")["hits"][0]["chunk_id"]
    asked = ("search", "apple", "--lang", "de", "--why-not", chunk_id)

    assert run_json(*asked)["explain"]["why_not"]["gate"] == "filtered"
    assert f"{chunk_id}: Filtered by lang" in run(*asked)[1]


def test_nothing_found_is_exit_1_and_still_a_document(workspace):
    write(workspace, "a.md", "apple")
    assert run_json("search", "zebra", "--mode", "lexical", code=Exit.NOTHING)["hits"] == []
    code, out, err = run("search", "zebra", "--mode", "lexical")
    assert (code, out) == (Exit.NOTHING, "")
    assert "Nothing was found" in err


def test_for_people_hits_are_on_stdout_and_remarks_on_stderr(corpus):
    code, out, err = run("search", "apple", "--mode", "lexical", "--tag", "fruit")
    assert code == 0
    assert "guides/a.md#L1-L9" in out
    assert "1 hit in " in err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("apple", "--path-glob", "[abc"), "invalid_glob"),
        (("'apple AND'", "--mode", "lexical"), "invalid_query"),
        (("apple", "-k", "-1"), "invalid_query"),
        (("apple", "--tag", ""), "invalid_filter"),
    ],
)
def test_a_request_that_makes_no_sense_is_an_error(corpus, arguments, code):
    assert error_of("search", *arguments, code=Exit.ERROR)["code"] == code


@pytest.mark.parametrize("arguments", [(), ("apple", "--mode", "fuzzy"), ("apple", "-k", "ten")])
def test_wrong_arguments_are_refused(workspace, arguments):
    with pytest.raises(CommandError):
        run("search", *arguments)


def test_a_workspace_has_to_be_named_when_there_are_several(workspace):
    other = make_workspace()
    write(other, "other.md", "apple")
    assert error_of("search", "apple", code=Exit.ERROR)["code"] == "workspace_needed"
    named = ("search", "apple", "--mode", "lexical", "--workspace")
    assert paths(run_json(*named, other.slug)) == ["other.md"]
    assert paths(run_json(*named, workspace.slug, code=Exit.NOTHING)) == []
    assert error_of(*named, "nope", code=Exit.NOTHING)["code"] == "not_found"


def test_the_document_fits_the_published_schema(corpus):
    document = run_json("search", "apple", "--explain")
    jsonschema.validate(document, inlined_schema("search_response.v1"))
