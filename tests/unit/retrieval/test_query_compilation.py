"""What a person types becomes an FTS5 expression that FTS5 accepts and that means what was typed."""

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.retrieval.errors import InvalidQuery
from search.retrieval.match import (
    MAX_TOKENS,
    ParsedQuery,
    cap_terms,
    check_prefixes,
    compile_all,
    compile_any,
    in_columns,
    parse_query,
)
from search.retrieval.scripts import has_token, tokens_of

ROWS = {
    "both": "the foo and the bar",
    "foo": "only foo here, he\"llo said don't",
    "code": "C++ next.js foo-bar path/to/file a:b @angular/core NOT",
}


@pytest.fixture(scope="module")
def index():
    connection = apsw.Connection(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE f USING fts5"
        " (chunk_id UNINDEXED, doc_id UNINDEXED, breadcrumb, text, tokenize = 'porter unicode61')"
    )
    for chunk_id, text in ROWS.items():
        connection.execute("INSERT INTO f VALUES (?, 'd', 'Guide > Install', ?)", (chunk_id, text))
    yield connection
    connection.close()


def found(index, expression):
    rows = index.execute("SELECT chunk_id FROM f WHERE f MATCH ? ORDER BY chunk_id", (expression,))
    return [chunk_id for (chunk_id,) in rows]


def test_a_quote_inside_a_term_is_doubled():
    assert compile_all(parse_query('he"llo').terms) == '"he""llo"'


def test_terms_are_joined_by_an_implicit_and():
    assert compile_all(parse_query("  foo\tbar\n").terms) == '"foo" "bar"'


def test_relaxed_terms_are_joined_by_or():
    assert compile_any(["foo", "bar"]) == '"foo" OR "bar"'


def test_and_finds_only_what_holds_every_term(index):
    assert found(index, compile_all(["foo", "bar"])) == ["both", "code"]
    assert found(index, compile_all(["foo", "only"])) == ["foo"]
    assert found(index, compile_any(["only", "next.js"])) == ["code", "foo"]


def test_a_whole_query_in_one_pair_of_quotes_is_raw():
    assert parse_query("'foo OR bar*'") == ParsedQuery(raw="foo OR bar*")
    assert parse_query("  'foo OR bar*'\n") == ParsedQuery(raw="foo OR bar*")


@pytest.mark.parametrize("text", ["'foo' bar", "'foo' OR 'bar'", "'foo", "foo'", "'", "don't", "'it's'"])
def test_anything_but_one_pair_of_quotes_is_plain(text):
    assert parse_query(text) == ParsedQuery(terms=tuple(text.split()))


def test_an_apostrophe_inside_a_raw_string_belongs_to_the_string(index):
    parsed = parse_query("""'"don't" OR bar'""")
    assert parsed.raw == """"don't" OR bar"""
    assert found(index, parsed.raw) == ["both", "code", "foo"]


@pytest.mark.parametrize("text", ["", " \n\t", "''", "'  '", "\x00", "(", "*", '"', "\ud800"])
def test_blank_queries_and_bare_punctuation_are_empty(text):
    parsed = parse_query(text)
    assert parsed.is_empty
    assert compile_all(parsed.terms) == compile_any(parsed.terms) == ""


def test_a_raw_query_and_a_word_are_not_empty():
    assert not parse_query("'foo'").is_empty
    assert not parse_query("( foo").is_empty


def test_control_characters_and_lone_surrogates_are_dropped():
    assert parse_query("fo\x00o b\ud800ar \x7f").terms == ("foo", "bar")
    assert parse_query("'fo\x00o'").raw == "foo"


def test_terms_without_a_token_are_left_out():
    assert compile_all(["(", "foo", "*"]) == '"foo"'
    assert compile_any(["foo", "foo", "-"]) == '"foo"'


@pytest.mark.parametrize(
    "text",
    ["next.js", "C++", "foo-bar", "path/to/file", "a:b", "@angular/core", "NOT", "C++ NOT a:b"],
)
def test_what_looks_like_syntax_is_found_as_text(index, text):
    assert found(index, compile_all(parse_query(text).terms)) == ["code"]


def test_a_contraction_is_found(index):
    assert found(index, compile_all(["don't"])) == ["foo"]


def test_an_expression_can_be_narrowed_to_columns(index):
    assert in_columns('"install"', ["text"]) == '{text} : ("install")'
    assert found(index, in_columns('"install"', ["text"])) == []
    assert found(index, in_columns('"install" OR "only"', ["breadcrumb", "text"])) == sorted(ROWS)


@given(st.text())
def test_every_compiled_text_is_accepted_by_fts5(index, text):
    parsed = parse_query(text)
    for expression in (compile_all(parsed.terms), compile_any(parsed.terms)):
        if expression:
            found(index, expression)
            found(index, in_columns(expression, ["breadcrumb", "text"]))


@given(st.text(alphabet="'\"() *:^+-{}ANDORNEAR,ab\x00\n"))
def test_syntax_characters_are_harmless_unless_raw(index, text):
    parsed = parse_query(text)
    if parsed.terms and not parsed.is_empty:
        found(index, compile_all(parsed.terms))
    assert parsed.raw is None or not parsed.terms


@given(st.lists(st.text()))
def test_any_terms_compile_to_something_fts5_accepts(index, terms):
    expression = compile_any(terms)
    if expression:
        found(index, expression)


@pytest.mark.parametrize("raw", ["a*", 'foo OR "of the"', "foo OR ab *", '"x y"*'])
def test_short_prefixes_are_refused_by_name(raw):
    if "*" not in raw:
        check_prefixes(raw)
        return
    with pytest.raises(InvalidQuery, match="too short"):
        check_prefixes(raw)


@pytest.mark.parametrize("raw", ["bar*", "foo OR bar*", "部*", '"new york"*', "a b c", "^foo"])
def test_long_and_cjk_prefixes_are_let_through(raw):
    check_prefixes(raw)


def test_a_term_that_fts5_can_find_is_never_dropped():
    codes = [*range(1, 0x250), *range(0x250, 0xD800, 10), *range(0x1F000, 0x1FB00, 10)]
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE f USING fts5 (text, tokenize = 'porter unicode61')")
    connection.execute("CREATE VIRTUAL TABLE v USING fts5vocab (f, 'instance')")
    connection.executemany("INSERT INTO f (rowid, text) VALUES (?, ?)", [(code, chr(code)) for code in codes])
    findable = [chr(code) for (code,) in connection.execute("SELECT DISTINCT doc FROM v")]
    connection.close()
    assert len(findable) > 3_000
    assert [character for character in findable if not has_token(character)] == []


def test_tokens_are_folded_runs_of_letters_and_numbers():
    assert tokens_of("Path/to_FILE-2") == ["path", "to", "file", "2"]
    assert tokens_of("e\u0301t") == ["e\u0301t"]
    assert not has_token("(*)'\"")
    assert has_token("部") and has_token("٣") and has_token("\ue000")


def test_a_short_query_is_kept_whole_without_asking_for_frequencies():
    def never(term):
        raise AssertionError(term)

    assert cap_terms(["b", "a", "b", "("], never) == ("b", "a")


def test_the_32_rarest_terms_are_kept_in_their_order():
    terms = [f"w{number}" for number in range(100)]
    frequency = {term: 100 - number for number, term in enumerate(terms)}
    assert cap_terms(terms, frequency.__getitem__) == tuple(terms[-MAX_TOKENS:])


def test_terms_that_occur_nowhere_do_not_push_out_the_others():
    known = [f"k{number}" for number in range(MAX_TOKENS)]
    unknown = [f"u{number}" for number in range(50)]
    assert cap_terms(unknown + known, lambda term: 5 if term in known else 0) == tuple(known)


def test_a_phrase_counts_for_its_tokens():
    phrases = [f"a{number}/b{number}" for number in range(20)]
    assert cap_terms(phrases, lambda term: phrases.index(term) + 1) == tuple(phrases[:16])


def test_an_endless_phrase_is_taken_apart():
    kept = cap_terms(["/".join(f"t{number}" for number in range(1000))], lambda term: int(term[1:]) + 1)
    assert kept == tuple(f"t{number}" for number in range(MAX_TOKENS))


def test_a_pasted_book_asks_for_a_bounded_number_of_frequencies():
    asked = []
    cap_terms([f"w{number}" for number in range(20_000)], lambda term: asked.append(term) or 1)
    assert len(asked) == len(set(asked)) == 512


@given(st.lists(st.text(alphabet="ab/ -1", max_size=8), max_size=60))
def test_never_more_than_32_distinct_tokens_are_searched(terms):
    kept = cap_terms(terms, len)
    assert len({token for term in kept for token in tokens_of(term)}) <= MAX_TOKENS
