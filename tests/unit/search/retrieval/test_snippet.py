from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.analysis import STEMMED, UNSTEMMED_WORDS
from search.markup.plain_text import plain_text
from search.retrieval.query.plain_match import marked_units
from search.retrieval.text.plain_text import SEPARATOR, PlainText, read_plain_text
from search.retrieval.text.snippet import SnippetBuilder


def window(text, query, max_chars=100, analysis=STEMMED):
    units, language = marked_units(query, analysis)
    plain = text if isinstance(text, PlainText) else PlainText(text)
    return SnippetBuilder(units, analysis, language).build(plain, max_chars)


def markdown(text):
    return read_plain_text(plain_text(text, "a.md", is_code=False))


def slices(snippet_and_highlights):
    snippet, highlights = snippet_and_highlights
    return [snippet[start:end] for start, end in highlights]


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("On 20.02.2026 none, on 19.02.2026 all.", "February 19, 2026", "19.02.2026"),
        ("Am 19. Februar 2026 kamen alle.", "2026-02-19", "19. Februar 2026"),
        ("Pay INV 2024 0117 now.", "INV20240117", "INV 2024 0117"),
        ("Clause 5.6 binds.", "(5.6)", "5.6"),
    ],
)
def test_number_in_parts_is_marked_in_any_notation(text, query, marked):
    assert marked in slices(window(text, query))


def test_window_holds_most_of_the_query():
    text = "rate rate rate rate. " + "filler " * 20 + "the rate limit is checked here. " + "filler " * 20
    snippet, _ = best = window(text, "rate limit", 40)
    assert slices(best) == ["rate", "limit"]
    assert snippet == "…the rate limit is checked here. filler…"
    text = "alpha one. " + "x " * 50 + "alpha two."
    assert window(text, "alpha", 20)[0] == "alpha one. x x x x…"


@pytest.mark.parametrize(
    ("text", "query", "max_chars", "expected"),
    [
        ("  Hello there", "absent (", 5, "Hello"),
        ("", "a", 5, ""),
        (" \n ", "a", 5, ""),
        ("  short \n", "", 100, "short"),
        ("no match in a text that goes on", "absent", 20, "no match in a text…"),
        ("one two three four five six needle", "needle", 20, "…five six needle"),
        ("abcdefghij " * 10 + "needle " + "abcdefghij " * 10, "needle", 30, "…needle abcdefghij abcdefghij…"),
        ("Something first. Then a needle in it, and more.", "needle", 31, "…Then a needle in it, and more."),
        ("前の文。" * 9 + "部署は次。" + "後の文。" * 9, "部署", 20, "…部署は次。" + "後の文。" * 3 + "後…"),
        ("x" * 60 + "needle" + "y" * 60, "needle", 20, "x" * 19 + "…"),
    ],
)  # fmt: skip
def test_window_begins_and_ends_at_words(text, query, max_chars, expected):
    snippet, _ = window(text, query, max_chars)
    assert snippet == expected
    assert len(snippet) <= max_chars


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("Searching and search", "SEARCHES", ["Searching", "search"]),
        ("install a tin", "in", []),
        ("happy or happier", "happy", ["happy"]),
        ("研究部署指南", "部署", ["部署"]),
        ("研究部署指南", "署指南", ["署指南"]),
        ("研究部署指南", "署", ["署"]),
        ("署署指署", "署", ["署署", "署"]),
        ("ﾊﾞｽ", "ﾊﾞ", ["ﾊﾞ"]),
        ("ดื่มน้ำเย็น", "น้ำ", ["น้ำ"]),
        ("น้ำ: ไทย", "\u0e33", ["\u0e33"]),
        ("a: b", "\u0e33", []),
        ("STRASSE İstanbul straße", "straße", ["STRASSE", "straße"]),
        ("Le café crème", "cafe", ["café"]),
        ("Bjørn, Ægir and Þorsteinn", "bjorn aegir thorsteinn", ["Bjørn", "Ægir", "Þorsteinn"]),
        ("Frau Jäger und Herr Jaeger", "Jaeger", ["Jäger", "Jaeger"]),
        ("a co-worker, coworkers", "coworker", ["co-worker", "coworkers"]),
        ("a co-worker, coworkers", "co-worker", ["co-worker", "coworkers"]),
        ("of 12,500 units, 12500", "12500", ["12,500", "12500"]),
        ("32GB or 32 GB", "32GB", ["32GB", "32 GB"]),
        ("32GB or 32 GB", "32 GB", ["32GB", "32", "GB"]),
        ("hidden pass\u00adword and\u200bso", "password andso", ["pass\u00adword", "and\u200bso"]),
        ("研究部\n署指南", "部署", ["部\n署"]),
        ("ship it 🎉 now", "🎉", ["🎉"]),
        ("see next.js now", "(next.js)", ["next.js"]),
        ("the path/to/file of a file path", "path/to/file", ["path/to/file", "file", "path"]),
        ("é rateLimit, rate_limits", "limit", ["Limit", "limits"]),
        ("é rateLimit, rate_limits", "rate limit", ["rateLimit", "rate_limits"]),
        ("set the userId of userid.", "id", ["Id"]),
        ("Die Häuser sind mit dem Dach", "die Dächer und Haus", ["Häuser", "Dach"]),
        ("C++ or c", "C++", ["C++", "c"]),
        ("ASP.NET and .NET", ".NET", ["NET", ".NET"]),
        ("how the rate is", "how is the rate", ["rate"]),
        ("limit the rate, rate the limit", '"rate limit"', ["limit", "rate", "rate", "limit"]),
        ("red apples and green", "'red AND (green OR \"blue\") AND title: gre*'", ["red", "green"]),
    ],
)  # fmt: skip
def test_marks_are_where_the_index_finds_the_query(text, query, marked):
    assert slices(window(text, query)) == marked


def test_unstemmed_words_are_marked_as_written():
    assert slices(window("search Searching", "search", analysis=UNSTEMMED_WORDS)) == ["search"]


def test_phrase_is_marked_where_its_words_follow_each_other():
    snippet = window("rate a limit, rate. limit", "'\"rate limit\"'")
    assert slices(snippet) == ["rate. limit"]


def test_marks_are_offsets_into_the_text_without_markup():
    plain = markdown("# A `retry`\n\n**retry** [re**try**](a.md)🎉")
    snippet = window(plain, "retry")
    assert (snippet[0], slices(snippet)) == ("A retry · retry retry🎉", ["retry"] * 3)


LINKS = markdown("- [Retry](a)\n- [Wait](b)\n\n" + "Words " * 9 + "and wait.")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("wait", "…Words and wait."),
        ("retry", "Retry · Wait…"),
        ("absent", "…Words Words Words…"),
    ],
)
def test_snippet_prefers_text_to_links_alone(query, expected):
    assert window(LINKS, query, 20)[0] == expected


def test_window_neither_begins_nor_ends_with_a_separator():
    plain = PlainText(f" {SEPARATOR} ".join(["alpha", "beta", "gamma", "delta", "omega"]))
    assert window(plain, "gamma", 20)[0] == "…gamma · delta…"


@pytest.mark.parametrize(
    "text",
    ["数据库平台的各部门需要参加培训。", "データベースの移行です、各部門は。", "데이터를 이전합니다. "],
)
def test_snippet_of_unspaced_scripts_is_as_long_as_asked_for(text):
    for query in ("absent", text[:2]):
        snippet, _ = window(markdown(f"{text}\n" * 40), query, 220)
        assert 205 < len(snippet) <= 220


WORDS = st.lists(
    st.sampled_from(["rate", "limit", "a", "部署", "é", "\n", "x-y", "Rate", "rateLimit."]), max_size=40
)


@given(WORDS.map(" ".join) | st.text(), (WORDS | st.lists(st.text())).map(" ".join), st.integers(1, 60))
def test_window_is_text_within_bounds_and_holds_a_match_if_there_is_one(text, query, max_chars):
    snippet, highlights = window(text, query, max_chars)
    assert snippet.strip("…") in text.replace(SEPARATOR, "·") or max_chars < 2
    assert len(snippet) <= max_chars
    assert all(0 <= start < end <= len(snippet) for start, end in highlights)
    assert all(end <= start for (_, end), (start, _) in pairwise(highlights))
    assert bool(highlights) == bool(window(text, query, 10_000)[1])
