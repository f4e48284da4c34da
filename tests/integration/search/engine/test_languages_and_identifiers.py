"""Search in any language and for names, with the right words highlighted."""

import pytest

from kebab.people.workspaces import store_settings
from search.retrieval.types import Mode
from tests.integration.search.corpus.highlight_examples import EXAMPLES
from tests.support.corpus import chunk, write, write_each
from tests.support.search import ask, embed, paths, sync


def highlighted_words(hit):
    return [hit.snippet[start:end] for start, end in hit.highlights]


def test_words_of_any_language_are_found_and_marked(workspace, subtests):
    for number, (_, text, _) in enumerate(EXAMPLES):
        write(workspace, f"{number}/held.md", text)
    write(workspace, "other.md", "unrelated 無関係 관계없는")
    write(workspace, "a.md", chunk("nothing of it", heading="部署指南 > rateLimit"))
    sync(workspace)
    for number, (query, _, highlights) in enumerate(EXAMPLES):
        with subtests.test(query=query):
            (hit,) = ask(workspace, query, path_glob=(f"{number}/*", "other.md")).hits
            assert (hit.doc_path, highlighted_words(hit)) == (f"{number}/held.md", highlights)
    for query in ("指南", "limit"):
        with subtests.test("in a heading", query=query):
            assert paths(ask(workspace, query, path_glob=("a.md",))) == ["a.md"]


def test_cpp_ranks_above_a_lone_letter_c(workspace):
    write(workspace, "vitamin.md", "c " * 30)
    write(workspace, "language.md", "templates of C++ take a while to learn and longer to master")
    sync(workspace)
    result = ask(workspace, "C++")
    assert paths(result) == ["language.md", "vitamin.md"]
    assert [hit.retrieval.tier for hit in result.hits] == ["all", "some"]


def test_whole_name_comes_before_its_parts(workspace):
    write(workspace, "parts.md", "rate limit rate limit")
    write(workspace, "whole.md", "a text that has the name rateLimit somewhere among other words")
    sync(workspace)
    assert paths(ask(workspace, "rateLimit")) == ["whole.md", "parts.md"]
    assert sorted(paths(ask(workspace, "rate_limit"))) == ["parts.md", "whole.md"]


def test_chinese_query_is_relaxed_into_character_pairs(workspace):
    write(workspace, "part.md", "设定好方法")
    write(workspace, "whole.md", "如何设定部署方法的说明文档在这里")
    sync(workspace)
    result = ask(workspace, "设定部署方法")
    assert paths(result) == ["whole.md", "part.md"]
    assert [highlighted_words(hit) for hit in result.hits] == [["设定部署方法"], ["设定", "方法"]]


def test_question_in_another_language_is_answered_by_other_forms(workspace):
    write(workspace, "de.md", "Die Brücke wurde von den Häusern aus gebaut und ist sehr lang")
    write_each(workspace, ["Das ist ein Text von der Bank und von dem Geld"] * 3)
    sync(workspace)
    hit = ask(workspace, "Wo sind die Häuser und die Brücken?").hits[0]
    assert (hit.doc_path, highlighted_words(hit)) == ("de.md", ["Brücke", "Häusern"])


def test_hit_of_the_vector_leg_alone_has_highlights(workspace, subtests):
    write(workspace, "a.md", "filler " * 100 + "rateLimit 部署指南 next.js " + "filler " * 100)
    sync(workspace)
    embed(workspace)
    for query, highlight in (("limits", "Limit"), ("部署", "部署"), ("署", "署"), ("next.js", "next.js")):
        with subtests.test(query=query):
            (hit,) = ask(workspace, query, Mode.VECTOR).hits
            assert highlighted_words(hit) == [highlight]


@pytest.mark.parametrize(
    ("is_stemmed", "expected"), [(True, ["installed", "installing"]), (False, ["installing"])]
)
def test_hits_of_every_mode_mark_what_the_index_finds_with_and_without_stemming(
    workspace, is_stemmed, expected
):
    store_settings(workspace, {"stemming": is_stemmed})
    workspace.refresh_from_db()
    write(workspace, "guide.md", "He installed it, and installing it was easy.")
    sync(workspace)
    embed(workspace)
    for mode in Mode:
        assert highlighted_words(ask(workspace, "installing", mode).hits[0]) == expected
