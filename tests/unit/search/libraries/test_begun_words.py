"""The last word while it is being typed, as an expression for what may have it."""

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.analysis import register_tokenizer
from search.libraries.begun import begun_word
from search.retrieval.match import parse_query


@pytest.mark.parametrize(
    ("typed", "expression"),
    [
        ("routi", '("routi" OR "rout"* OR "rou")'),
        ("use routi*", '"use" AND ("routi" OR "rout"* OR "rou")'),
        ("organisa", '("organisa" OR "organis"* OR "organi" OR "organ" OR "orga" OR "org")'),
        ("next.j", '("next" OR "j")'),
        ("abc", '("abc")'),
    ],
)
def test_shorter_beginnings_and_parts_of_the_word_are_alternatives(typed, expression):
    begun = begun_word(typed)

    assert begun is not None
    assert begun.expression == expression


@pytest.mark.parametrize("typed", ["", "ab", "a OR routi", '"use" routi', "use* routi", "NOT", "***", "---"])
def test_what_is_short_or_has_syntax_of_its_own_has_none(typed):
    assert begun_word(typed) is None


@pytest.mark.parametrize(
    ("typed", "text", "begins"),
    [
        ("routi", "of Routing", True),
        ("routi", "a route", False),
        ("next.j", "in next.js", True),
        ("next.j", "next", False),
        ("getUserBy", "x = getUserById(3)", True),
        ("use limi", "a rateLimit", True),
        ("résu", "My RÉSUMÉ", True),
        ("署指南", "阅读部署指南", True),
        ("limi", "unlimited", False),
    ],
)
def test_a_text_has_a_word_that_begins_so_or_has_not(typed, text, begins):
    begun = begun_word(typed)

    assert begun is not None
    assert begun.begins_words_of(text) is begins


@pytest.fixture(scope="module")
def index():
    connection = apsw.Connection(":memory:")
    register_tokenizer(connection)
    connection.execute("CREATE VIRTUAL TABLE t USING fts5 (text, tokenize = 'kebab')")
    return connection


@given(
    typed=st.lists(
        st.sampled_from(
            ["use", "routi", "next.j", "don't", "C++", "a/b/c", "部署", "^x", "a:b", "(", "'", "{}"]
        )
        | st.text(max_size=9),
        max_size=5,
    ).map(" ".join)
)
def test_fts5_takes_every_expression(index, typed):
    begun = begun_word(typed)
    raw = begun and parse_query(f"'{begun.expression}'").raw

    assert begun is None or raw
    if raw:
        index.execute("SELECT rowid FROM t WHERE t MATCH ?", (raw,)).fetchall()
