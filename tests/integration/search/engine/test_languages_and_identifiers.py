"""Searching in any language, and for names, with the right words marked."""

import pytest

from search.retrieval.types import Mode
from tests.integration.search.corpus.marked import EXAMPLES
from tests.support.corpus import chunk, write, write_each
from tests.support.searching import ask, embed, paths, sync


def marked(hit):
    return [hit.snippet[start:end] for start, end in hit.highlights]


@pytest.mark.parametrize(("query", "text", "highlights"), EXAMPLES)
def test_what_is_asked_for_is_found_and_marked(workspace, query, text, highlights):
    write(workspace, "held.md", text)
    write(workspace, "other.md", "unrelated 無関係 관계없는")
    sync(workspace)
    (hit,) = ask(workspace, query).hits
    assert hit.doc_path == "held.md"
    assert marked(hit) == highlights


@pytest.mark.parametrize("query", ["(", "*", "( *", "'", "。", "🙂"])
def test_what_has_no_word_finds_nothing(workspace, query):
    write(workspace, "a.md", "( * 。 🙂 ' text")
    sync(workspace)
    assert ask(workspace, query).hits == ()


def test_a_name_with_its_sign_comes_before_a_lone_letter(workspace):
    write(workspace, "vitamin.md", "c " * 30)
    write(workspace, "language.md", "templates of C++ take a while to learn and longer to master")
    sync(workspace)
    result = ask(workspace, "C++")
    assert paths(result) == ["language.md", "vitamin.md"]
    assert [hit.retrieval.tier for hit in result.hits] == ["all", "some"]


def test_a_whole_name_comes_before_its_parts(workspace):
    write(workspace, "parts.md", "rate limit rate limit")
    write(workspace, "whole.md", "a text that has the name rateLimit somewhere among other words")
    sync(workspace)
    assert paths(ask(workspace, "rateLimit")) == ["whole.md", "parts.md"]
    assert paths(ask(workspace, "rate_limit"))[0] in {"parts.md", "whole.md"}


def test_a_run_without_spaces_relaxes_into_pairs(workspace):
    write(workspace, "part.md", "设定好方法")
    write(workspace, "whole.md", "如何设定部署方法的说明文档在这里")
    sync(workspace)
    result = ask(workspace, "设定部署方法")
    assert paths(result) == ["whole.md", "part.md"]
    assert [marked(hit) for hit in result.hits] == [["设定部署方法"], ["设定", "方法"]]


def test_a_question_in_another_language_is_answered_by_other_forms(workspace):
    write(workspace, "de.md", "Die Brücke wurde von den Häusern aus gebaut und ist sehr lang")
    write_each(workspace, ["Das ist ein Text von der Bank und von dem Geld"] * 3)
    sync(workspace)
    hit = ask(workspace, "Wo sind die Häuser und die Brücken?").hits[0]
    assert hit.doc_path == "de.md"
    assert marked(hit) == ["Brücke", "Häusern"]


def test_a_word_of_a_title_is_found_in_any_script(workspace):
    write(workspace, "a.md", chunk("nothing of it", heading="部署指南 > rateLimit"))
    sync(workspace)
    assert paths(ask(workspace, "指南")) == paths(ask(workspace, "limit")) == ["a.md"]


@pytest.mark.parametrize(
    ("query", "highlights"),
    [("limits", ["Limit"]), ("部署", ["部署"]), ("署", ["署"]), ("next.js", ["next.js"])],
)
def test_a_hit_of_the_vector_leg_alone_is_marked_in_the_same_way(workspace, query, highlights):
    write(workspace, "a.md", "filler " * 100 + "rateLimit 部署指南 next.js " + "filler " * 100)
    sync(workspace)
    embed(workspace)
    (hit,) = ask(workspace, query, Mode.VECTOR).hits
    assert marked(hit) == highlights
