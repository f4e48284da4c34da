import pytest

from kebab.exit_codes import Exit
from search.retrieval.types import Mode
from tests.cli.commands import error_of, run, run_json
from tests.support.corpus import chunk, make_workspace, write, write_each
from tests.support.schemas import validate
from tests.support.search import ask, embed

LEXICAL = ("--mode", "lexical")


@pytest.fixture
def corpus(workspace):
    write(workspace, "guides/a.md", "apple pear", tags=("fruit",), lang="en", trust_level="primary")
    stated = {"author": "Ada", "date": "2024-03-05", "year": 2024}
    write(workspace, "notes/b.md", "apple plum", tags=("note",), lang="de", source="notes", metadata=stated)
    write(workspace, "guides/c.md", "apple fig", version="v2")
    embed(workspace)
    return workspace


def paths(document):
    return [hit["doc_path"] for hit in document["hits"]]


def test_document_is_the_same_as_over_http(corpus):
    write_each(corpus, ["apple"] * 12)
    embed(corpus)
    printed = run_json("search", "apple", "--explain")
    expected = ask(corpus, "apple", Mode.HYBRID, k=10)

    validate("search_response.v1", printed)
    assert [hit["chunk_id"] for hit in printed["hits"]] == [hit.chunk_id for hit in expected.hits]
    assert len(printed["hits"]) == 10
    assert (printed["mode"], printed["lag"]) == ("hybrid", 0)


def test_operators_in_the_query_are_obeyed_and_explained(corpus):
    assert paths(run_json("search", "apple -plum tag:fruit", *LEXICAL)) == ["guides/a.md"]
    assert "operators  -plum, tag:fruit" in run("search", "apple -plum tag:fruit", "--explain")[1]


def test_committed_document_is_found_at_once_without_a_mirror_process(workspace):
    write(workspace, "a.md", "apple")
    assert paths(run_json("search", "apple", *LEXICAL)) == ["a.md"]
    write(workspace, "b.md", "apple")
    assert sorted(paths(run_json("search", "apple", *LEXICAL))) == ["a.md", "b.md"]


def test_related_hits_are_shown_apart_or_left_out(corpus):
    few_words = ("search", "apple numismatic byzantine follis catalogue", *LEXICAL)
    status, printed, remarks = run(*few_words)
    assert (status, "Related:" in printed, "2 hits, 2 only related" in remarks) == (Exit.DONE, True, True)
    left = run_json(*few_words, "--floor", code=Exit.NOTHING)
    assert (left["hits"], left["related_total"]) == ([], 2)


def test_each_filter_narrows(corpus, subtests):
    cases = (
        ("--tag fruit", ["guides/a.md"]),
        ("--lang de", ["notes/b.md"]),
        ("--lang de --lang fr", ["notes/b.md"]),
        ("--path-glob guides/*.md", ["guides/a.md"]),
        ("--path-not-glob guides/*.md", ["notes/b.md"]),
        ("--source notes", ["notes/b.md"]),
        ("--trust-min primary", ["guides/a.md"]),
        ("--version v2", ["guides/c.md"]),
        ("--author Ada", ["notes/b.md"]),
        ("--metadata author=Ada --metadata author=Bob --metadata year>=2024", ["notes/b.md"]),
        ("--metadata year=2024 --metadata date<2024-04-01", ["notes/b.md"]),
        ("--metadata author!=Ada", ["guides/a.md"]),
        ("--metadata !author", ["guides/a.md"]),
        ("--metadata author", ["notes/b.md"]),
        ("--before 2024-04", ["notes/b.md"]),
        ("--after 2024-03-06", ["guides/a.md"]),
        ("--after 2024-03-05T00:00:00Z", ["guides/a.md", "notes/b.md"]),
        ("", ["guides/a.md", "notes/b.md"]),
    )
    for options, expected in cases:
        with subtests.test(options=options):
            assert sorted(paths(run_json("search", "apple", *options.split()))) == expected
    for mode in Mode:
        found = run_json("search", "apple", "--mode", mode.value, "--lang", "de")
        assert (found["mode"], paths(found)) == (mode.value, ["notes/b.md"])
    write(corpus, "a.py", chunk("apple", kind="code", language="python"))
    assert paths(run_json("search", "apple", *LEXICAL, "--code-lang", "py")) == ["a.py"]


def test_each_option_changes_the_list(corpus):
    def scores(fusion):
        hits = run_json("search", "apple pear", "--fusion", fusion)["hits"]
        return [hit["retrieval"]["fusion_score"] for hit in hits]

    assert len(run_json("search", "apple", "-k", "1")["hits"]) == 1
    assert scores("rrf") != scores("convex")
    assert run_json("search", "apple", "--rerank")["rerank"]["status"] == "fallback"
    assert run_json("search", "apple", "--explain")["explain"]["timings_ms"]
    assert run_json("search", "apple")["explain"] is None
    assert "chunk id" in run("search", "apple", "--explain")[1]
    found = run_json("search", "pear", *LEXICAL)["hits"][0]["chunk_id"]
    missed = run_json("search", "apple", "--lang", "de", "--why-not", found)
    assert missed["explain"]["why_not"]["gate"] == "filtered"

    write(corpus, "many.md", "apple one", "apple two", "apple three")
    capped = paths(run_json("search", "apple", *LEXICAL, "--per-file-cap", "1"))
    assert capped.count("many.md") == 1
    assert paths(run_json("search", "apple", *LEXICAL)).count("many.md") == 3

    newest = run_json("search", "apple", *LEXICAL, "--sort", "date", "--per-file-cap", "1")
    assert paths(newest)[0] == "notes/b.md"
    old = run_json("search", "apple", *LEXICAL, "--recency", "1", "--lang", "de")["hits"][0]
    assert old["score"] < run_json("search", "apple", *LEXICAL, "--lang", "de")["hits"][0]["score"]
    included = run_json("search", "plum", *LEXICAL, "--include", "text", "--max-text-chars", "5")
    assert included["hits"][0]["text"] == "apple"
    fields = run_json("search", "plum", *LEXICAL, "--field", "doc_path", "--field", "rank")
    assert fields["hits"] == [{"rank": 1, "doc_path": "notes/b.md"}]
    faceted = run("search", "plum", *LEXICAL, "--facet", "lang", "--facet", "metadata.year")[1]
    assert "lang: de 1\nmetadata.year: 2024 1\n" in faceted

    corpus.settings = {"default_k": 1}
    corpus.save(update_fields=["settings"])
    assert len(run_json("search", "apple")["hits"]) == 1
    write_each(corpus, ["apple"] * 12)
    assert len(run_json("search", "apple", "-k", "14")["hits"]) == 14
    assert len(run_json("search", "apple", "-k", "14", "--cutoff")["hits"]) < 14


def test_cursor_of_one_run_gives_the_next_page_in_another(corpus):
    write_each(corpus, ["apple"] * 12)
    whole = run_json("search", "apple", *LEXICAL, "-k", "20")["hits"]
    first = run_json("search", "apple", *LEXICAL, "-k", "5")
    second = run_json("search", "--cursor", first["next_cursor"], "-k", "4")

    assert first["hits"] + second["hits"] == whole[:9]
    assert f"--cursor {first['next_cursor']}" in run("search", "apple", *LEXICAL, "-k", "5")[2]
    beside = error_of("search", "--cursor", first["next_cursor"], "--lang", "de", code=Exit.ERROR)
    assert beside["code"] == "invalid_arguments"
    both = error_of("search", "apple", "--cursor", first["next_cursor"], code=Exit.ERROR)
    assert both["code"] == "invalid_arguments"


def test_hits_are_on_stdout_remarks_on_stderr_and_nothing_found_is_exit_1(corpus):
    code, out, err = run("search", "apple", *LEXICAL, "--tag", "fruit")
    assert (code, "guides/a.md#L1-L9" in out, "1 hit in " in err) == (Exit.DONE, True, True)
    assert run_json("search", "zebra", *LEXICAL, code=Exit.NOTHING)["hits"] == []
    code, out, err = run("search", "zebra", *LEXICAL)
    assert (code, out, corpus.slug in err) == (Exit.NOTHING, "", True)


def test_invalid_requests_are_errors(corpus, subtests):
    for arguments, exit_code, code in (
        (("apple", "--path-glob", "[abc"), Exit.ERROR, "invalid_glob"),
        (("'apple AND'", *LEXICAL), Exit.ERROR, "invalid_query"),
        (("apple", "-k", "-1"), Exit.ERROR, "invalid_query"),
        (("apple", "--tag", ""), Exit.ERROR, "invalid_filter"),
        (("apple", "--metadata", "=x"), Exit.ERROR, "invalid_arguments"),
        (("apple", "--metadata", "year>=soon"), Exit.ERROR, "invalid_filter"),
        (("apple", "--after", "soon"), Exit.ERROR, "invalid_request"),
        (("--cursor", "00"), Exit.ERROR, "stale_cursor"),
    ):
        with subtests.test(arguments=arguments):
            assert error_of("search", *arguments, code=exit_code)["code"] == code
    for arguments in ((), ("apple", "--mode", "fuzzy"), ("apple", "-k", "ten")):
        with subtests.test(arguments=arguments):
            assert error_of("search", *arguments, code=Exit.ERROR)["code"] == "invalid_arguments"


def test_command_requires_a_workspace_when_several_exist(workspace):
    other = make_workspace()
    write(other, "other.md", "apple")
    assert error_of("search", "apple", code=Exit.ERROR)["code"] == "workspace_needed"
    named = ("search", "apple", *LEXICAL, "--workspace")
    assert paths(run_json(*named, other.slug)) == ["other.md"]
    assert paths(run_json(*named, workspace.slug, code=Exit.NOTHING)) == []
    assert error_of(*named, "nope", code=Exit.ERROR)["code"] == "not_found"
