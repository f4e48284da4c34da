"""`kebab ask`."""

import re

import jsonschema
import pytest

from kebab.cli.errors import Exit
from search.answers.configured import configured_model
from search.wire.schemas import inlined_schema
from tests.cli.running import error_of, run, run_json
from tests.integration.search.answers.stub import dies, says, serving_model
from tests.support.corpus import write
from tests.support.searching import embed


@pytest.fixture
def corpus(workspace):
    write(workspace, "guides/backup.md", "A backup runs every night at three o'clock.", trust_level="primary")
    write(workspace, "notes/travel.md", "The head of the department approves travel.", source="notes")
    embed(workspace)
    return workspace


@pytest.fixture
def use(settings):
    def set_(stub):
        settings.KEBAB_ANSWER_URL, settings.KEBAB_ANSWER_MODEL = stub.url, "parrot"
        configured_model.cache_clear()

    yield set_
    configured_model.cache_clear()


def test_a_person_reads_the_text_and_where_it_stands(corpus):
    code, out, err = run("ask", "When does the backup run?")

    assert code == Exit.DONE
    said, _, cited = out.partition("\n\n")
    assert re.fullmatch(r"A backup runs every night at three o'clock\. \[#\d]", said)
    assert re.match(r"\[#\d] guides/backup\.md#L1-L9  docs, primary\n", cited)
    assert "no model is configured" in err
    assert "extractive in" in err


def test_a_program_reads_the_answer(corpus):
    printed = run_json("ask", "When does the backup run?")
    jsonschema.validate(printed, inlined_schema("answer.v1"))
    assert (printed["state"], printed["citations"][0]["uri"]) == ("extractive", "guides/backup.md#L1-L9")
    assert printed["asked_by"].startswith("operator:")


def test_a_refusal_is_nothing_found(corpus):
    code, out, err = run("ask", "Who won the chess olympiad in Tromsø?")
    assert (code, out) == (Exit.NOTHING, "")
    assert "refused" in err


def test_a_model_writes_the_answer(corpus, use):
    with serving_model(says("Every ", "night [", "#1].")) as stub:
        use(stub)
        code, out, _ = run("ask", "When does the backup run?")
    assert code == Exit.DONE
    assert out.startswith("Every night [#1].\n\n[#1] ")


def test_a_failure_of_the_model_is_an_error(corpus, use):
    with serving_model(dies) as stub:
        use(stub)
        code, _, err = run("ask", "When does the backup run?")
    assert code == Exit.ERROR
    assert "broke off its answer" in err


def test_options_narrow_and_go_on(corpus):
    first = run_json("ask", "Who approves travel?", "--source", "notes", "-k", "1", "--mode", "lexical")
    assert [hit["citation"]["path"] for hit in first["hits"]] == ["notes/travel.md"]
    assert first["mode"] == "lexical"
    second = run_json("ask", "And who else?", "--conversation", first["conversation_id"])
    assert second["conversation_id"] == first["conversation_id"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("",), "invalid_query"),
        (("x", "--conversation", "1"), "invalid_arguments"),
        (("x", "-k", "0"), "invalid_query"),
        (("x", "--path-glob", "["), "invalid_glob"),
    ],
)
def test_what_can_not_be_asked_is_an_error(corpus, arguments, code):
    assert error_of("ask", *arguments, code=Exit.ERROR)["code"] == code
