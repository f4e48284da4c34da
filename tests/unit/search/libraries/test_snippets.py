"""The unfinished last word as an expression for its possible completions."""

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.analysis import register_tokenizer
from search.libraries.snippets import parse_unfinished_word
from search.retrieval.query.parser import parse_query


def test_begun_word_has_shorter_beginnings_and_parts(subtests):
    cases = [
        ("routi", '("routi" OR "rout"* OR "rou")'),
        ("use routi*", '"use" AND ("routi" OR "rout"* OR "rou")'),
        ("organisa", '("organisa" OR "organis"* OR "organi" OR "organ" OR "orga" OR "org")'),
        ("next.j", '("next" OR "j")'), ("abc", '("abc")'),
    ]  # fmt: skip
    for typed, expression in cases:
        with subtests.test(typed=typed):
            word = parse_unfinished_word(typed)
            assert word is not None
            assert word.expression == expression
    for typed in ["", "ab", "a OR routi", '"use" routi', "use* routi", "NOT", "***", "---"]:
        with subtests.test(typed=typed):
            assert parse_unfinished_word(typed) is None

    word = parse_unfinished_word("a.b." * 250)
    assert word is not None
    assert word.words == ("a", "b")

    cases = [
        ("routi", "of Routing", True), ("routi", "a route", False), ("next.j", "in next.js", True),
        ("next.j", "next", False), ("getUserBy", "x = getUserById(3)", True),
        ("use limi", "a rateLimit", True), ("résu", "My RÉSUMÉ", True), ("署指南", "阅读部署指南", True),
        ("limi", "unlimited", False),
    ]  # fmt: skip
    for typed, text, begins in cases:
        with subtests.test(typed=typed):
            word = parse_unfinished_word(typed)
            assert word is not None
            assert word.begins_words_of(text) is begins


@pytest.fixture(scope="module")
def index():
    connection = apsw.Connection(":memory:")
    register_tokenizer(connection)
    connection.execute("CREATE VIRTUAL TABLE t USING fts5 (text, tokenize = 'kebab')")
    return connection


SIGNS = "use|routi|next.j|don't|C++|a/b/c|部署|^x|a:b|(|'|{}"
PIECES = st.sampled_from(SIGNS.split("|")) | st.text(max_size=9)


@given(typed=st.lists(PIECES, max_size=5).map(" ".join))
def test_fts5_takes_every_expression(index, typed):
    word = parse_unfinished_word(typed)
    raw = word and parse_query(f"'{word.expression}'").raw
    assert word is None or raw
    if raw:
        index.execute("SELECT rowid FROM t WHERE t MATCH ?", (raw,)).fetchall()
