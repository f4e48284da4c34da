"""Typed text becomes an FTS5 expression, and FTS5 accepts one form of it."""

import apsw
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from search.libraries.snippets import add_prefix_star, plain_terms, prefix_expression
from search.retrieval.query.parser import parse_query

SIGNS = 'how|to|ab|AND|OR|NOT|NEAR|"|""|*|**|fo*|(|)|\'|^x|a:b|+|-|{a b}|"a b"|"a"*|部署|\x00|e\u0301|,|1,2'
PIECES = st.sampled_from(SIGNS.split("|")) | st.text(max_size=8)
TYPED = st.lists(PIECES, max_size=12).flatmap(
    lambda words: st.sampled_from(["", " ", "  ", "\t"]).map(lambda space: space.join(words))
)


def test_typed_text_is_tidied_compiled_and_found(subtests, index):
    cases = [
        ("how to use hooks", "how to use hooks*"), ("ab", "ab"), ("react*", "react*"),
        ("foo (bar)", "foo bar*"), ("", ""), ("  (  ) ", ""), (" useState(  initial ", "useState initial*"),
        ("abc", "abc*"), ("hooks ab", "hooks ab"),
    ]  # fmt: skip
    for typed, expected in cases:
        with subtests.test(typed=typed):
            assert add_prefix_star(typed) == expected

    cases = [
        ("hook", '"hook"*'), ("how to use hooks", '"how" "to" "use" "hooks"*'),
        ('how "to use" hooks', '"how" "to use" "hooks"*'), ('"to use"', '"to use"*'),
        ("effect* clean ab", '"effect"* "clean" "ab"'), ("state OR effect", '"state" OR "effect"*'),
        ("state AND effect NOT memo", '"state" AND "effect" NOT "memo"*'), ("OR state", '"OR" "state"*'),
        ("state OR", '"state" "OR"'), ("state AND", '"state" "AND"*'),
        ("state OR OR effect", '"state" "OR" OR "effect"*'), ("state or effect", '"state" "or" "effect"*'),
        ('use"State', '"use""State"*'), ('"use state', '"""use" "state"*'), ('"a b"c', '"""a" "b""c"*'),
        ("C++ a:b ^x", '"C++" "a:b" "^x"'), ("* ** x", '"x"'), ('""', ""), ("NEAR(a b)", '"NEAR" "a" "b"'),
        ("部", '"部"*'), ("署 react", '"署"* "react"*'), ('"部" ab', '"部"* "ab"'), ("部署", '"部署"'),
        ("部署指", '"部署指"*'),
    ]  # fmt: skip
    for typed, expected in cases:
        with subtests.test(typed=typed):
            assert prefix_expression(typed) == expected
    cases = [
        ("how to", [1]), ("to", [1, 2]), ("hoo", [1]), ("to and", [2]), ('"to use"', [1]),
        ("state OR fro", [2, 3]),
    ]  # fmt: skip
    for typed, rows in cases:
        with subtests.test(typed=typed):
            assert matches(index, prefix_expression(typed)) == rows
    assert plain_terms('state* AND "a b (c)') == 'state AND "a b c'
    assert plain_terms(" () * ") == ""
    assert plain_terms("'foo OR bar'") == " foo OR bar "
    assert plain_terms("don't 'quote'") == "don't 'quote'"


@given(text=st.text(alphabet="'a \x00*()\"", max_size=12) | st.text(max_size=20))
def test_terms_alone_are_never_raw(text):
    assert parse_query(plain_terms(text)).raw is None


@pytest.fixture(scope="module")
def index():
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5 (text, tokenize = 'porter unicode61')")
    for text in ("how to use hooks in react", "to and fro", "state effect"):
        connection.execute("INSERT INTO t VALUES (?)", (text,))
    return connection


def matches(index, expression):
    raw = parse_query(f"'{expression}'").raw
    if raw is None:
        assert not expression.strip("\x00'") or not any(c.isprintable() for c in expression)
        return []
    return [row[0] for row in index.execute("SELECT rowid FROM t WHERE t MATCH ?", (raw,))]


@given(typed=TYPED)
@example('"a b" AND "')
@example("'")
@example("a AND * b")
@example("NOT NOT")
def test_fts5_takes_every_typed_expression(index, typed):
    matches(index, prefix_expression(typed))
