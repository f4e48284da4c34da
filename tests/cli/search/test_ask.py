import re

import pytest

from kebab.exit_codes import Exit
from tests.cli.commands import error_of, run, run_json
from tests.integration.search.answers.stub import errs, says, serving_model
from tests.support.corpus import write
from tests.support.runtime import renew_runtime
from tests.support.schemas import validate
from tests.support.search import embed

QUESTION = "When does the backup run?"


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
        renew_runtime()

    yield set_
    renew_runtime()


def test_extractive_answer_is_printed_with_its_citations(corpus):
    code, out, err = run("ask", QUESTION)
    assert code == Exit.DONE
    answer, _, cited = out.partition("\n\n")
    assert re.fullmatch(r"A backup runs every night at three o'clock\. \[#\d]", answer)
    assert re.match(r"\[#\d] guides/backup\.md#L1-L9  docs, primary\n", cited)
    assert "extractive" in err

    printed = run_json("ask", QUESTION)
    validate("answer.v1", printed)
    assert (printed["state"], printed["citations"][0]["uri"]) == ("extractive", "guides/backup.md#L1-L9")
    assert printed["asked_by"].startswith("operator:")


def test_ask_command_exits_like_an_empty_search_when_refused(corpus):
    code, out, err = run("ask", "Who won the chess olympiad in Tromsø?")
    assert (code, out) == (Exit.NOTHING, "")
    assert "refused" in err


def test_model_writes_the_answer_and_its_failure_is_an_error(corpus, use):
    with serving_model(says("Every ", "night [", "#1].")) as stub:
        use(stub)
        code, out, _ = run("ask", QUESTION)
    assert code == Exit.DONE
    assert out.startswith("Every night [#1].\n\n[#1] ")

    with serving_model(errs) as stub:
        use(stub)
        assert run("ask", QUESTION)[0] == Exit.ERROR


def test_options_narrow_and_continue_a_conversation(corpus):
    first = run_json("ask", "Who approves travel?", "--source", "notes", "-k", "1", "--mode", "lexical")
    assert [hit["citation"]["path"] for hit in first["hits"]] == ["notes/travel.md"]
    assert first["mode"] == "lexical"
    second = run_json("ask", "And who else?", "--conversation", first["conversation_id"])
    assert second["conversation_id"] == first["conversation_id"]


def test_invalid_requests_are_errors(corpus, subtests):
    for arguments, code in (
        (("",), "invalid_request"),
        (("x", "--conversation", "1"), "invalid_request"),
        (("x", "-k", "0"), "invalid_request"),
        (("x", "--path-glob", "["), "invalid_glob"),
    ):
        with subtests.test(arguments=arguments):
            assert error_of("ask", *arguments, code=Exit.ERROR)["code"] == code
