"""What a person types becomes an FTS5 expression that FTS5 accepts and that means what was typed."""

import re
import unicodedata

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search import analysis
from search.retrieval.errors import InvalidQuery
from search.retrieval.match import (
    MAX_TOKENS,
    ParsedQuery,
    check_prefixes,
    compile_all,
    compile_any,
    index_terms,
    match_of,
    parse_query,
    quoted,
)
from search.retrieval.scripts import has_token, words_of

ROWS = {
    "both": "the foo and the bar",
    "foo": "only foo here, he\"llo said don't",
    "code": "C++ next.js foo-bar path/to/file a:b @angular/core NOT",
    "guide": "Die Häuser und die Brücken sind im 部署指南",
}


@pytest.fixture(scope="module")
def index():
    connection = apsw.Connection(":memory:")
    analysis.register_tokenizer(connection)
    connection.execute(
        "CREATE VIRTUAL TABLE f USING fts5"
        " (chunk_id UNINDEXED, doc_id UNINDEXED, breadcrumb, text, tokenize = 'kebab')"
    )
    for chunk_id, text in ROWS.items():
        connection.execute("INSERT INTO f VALUES (?, 'd', 'Guide > Install', ?)", (chunk_id, text))
    yield connection
    connection.close()


def found(index, expression):
    rows = index.execute("SELECT chunk_id FROM f WHERE f MATCH ? ORDER BY chunk_id", (expression,))
    return [chunk_id for (chunk_id,) in rows]


def never(terms):
    raise AssertionError(terms)


def each(document_frequency):
    return lambda terms: {term: document_frequency(term) for term in terms}


def match(text, frequencies=never):
    return match_of(parse_query(text).terms, analysis, frequencies)


def every(text):
    return compile_all(match(text).every)


def some(text):
    return compile_any(match(text).some)


def test_a_quote_inside_a_term_is_doubled():
    assert every('he"llo') == '"he""llo"'


def test_terms_are_joined_by_an_implicit_and():
    assert every("  foo\tbar\n") == '"foo" "bar"'


def test_relaxed_terms_are_joined_by_or():
    assert some("foo bar") == '"foo" OR "bar"'


def test_and_finds_only_what_holds_every_term(index):
    assert found(index, every("foo bar")) == ["both", "code"]
    assert found(index, every("foo only")) == ["foo"]
    assert found(index, some("said next.js")) == ["code", "foo"]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("path/to/file", ["path", "file"]),
        ("RATE_LIMIT", ["RATE", "LIMIT"]),
        ("rateLimit", ["rateLimit", "rate", "Limit"]),
        ("C++ C++", ["C++", "C"]),
        ("部署指南", ["部署", "署指", "指南"]),
        ("2023年に", ["2023", "年に"]),
        ("2023年", ["2023"]),
        ("年", ["年"]),
        ("これは設定です", ["は設", "設定", "定で"]),
        ("how does the server don't", ["server"]),
        ("Newton's laws", ["Newton", "laws"]),
        ("où est l’église d'Arles", ["église", "Arles"]),
        ("T cells", ["T", "cells"]),
        ("the who", ["the", "who"]),
        ("rate_limit rate", ["rate", "limit"]),
    ],
)
def test_relaxed_terms_are_pieces_that_say_something(text, pieces):
    assert [unit.term for unit in match(text).some] == pieces


def test_a_term_and_its_pieces_stay_apart_in_the_strict_form():
    units = match("path/to/file 部署指南 rateLimit 年").every
    assert [unit.is_word for unit in units] == [False, False, True, False]
    assert [unit.is_prefix for unit in units] == [False, False, False, True]
    assert [len(unit.positions) for unit in units] == [3, 3, 1, 1]


def test_units_that_look_for_the_same_are_one():
    assert [unit.term for unit in match("Files file FILE 部").every] == ["Files", "部"]


def test_a_query_in_another_language_looks_for_the_stems_of_both():
    (und, hauser) = match("und die Häuser").every[0], match("und die Häuser").some[0]
    assert und.positions == (("und",),)
    assert (hauser.positions, hauser.is_word) == ((("hauser", "haus"),), True)
    assert match("Häuser").every[0].positions == (("hauser",),)


def test_alternatives_are_found_in_fts5(index):
    assert found(index, every("und die Haus")) == ["guide"]
    assert found(index, every("sind die Brücke")) == ["guide"]


def test_snippets_mark_phrases_whole_and_pieces():
    assert [unit.term for unit in match("path/to/file here").marked] == ["path/to/file", "path", "file"]
    assert [unit.term for unit in match("path to file").marked] == ["path", "file"]


def test_the_index_terms_of_a_query_are_those_of_its_pieces():
    wanted = index_terms(parse_query("how do rateLimit and 部署指南 relate to C++").terms, analysis)
    assert wanted == {"ratelimit", "rate", "limit", "部署", "署指", "指南", "relat", "c++", "c"}
    assert index_terms(["(", "*"], analysis) == frozenset()


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
    assert match(text) is None


def test_a_raw_query_and_a_word_are_not_empty():
    assert not parse_query("'foo'").is_empty
    assert not parse_query("( foo").is_empty


def test_control_characters_and_lone_surrogates_are_dropped():
    assert parse_query("fo\x00o b\ud800ar \x7f").terms == ("foo", "bar")
    assert parse_query("'fo\x00o'").raw == "foo"


def test_terms_without_a_token_are_left_out():
    assert every("( foo *") == some("foo foo -") == '"foo"'


@pytest.mark.parametrize(
    "text",
    ["next.js", "C++", "foo-bar", "path/to/file", "a:b", "@angular/core", "NOT", "C++ NOT a:b"],
)
def test_what_looks_like_syntax_is_found_as_text(index, text):
    assert found(index, every(text)) == ["code"]


def test_a_contraction_is_found(index):
    assert found(index, every("don't")) == ["foo"]


WEIRD = st.text() | st.text(alphabet="'\"() *:^+-{}ANDORNEAR,ab\x00\n部署ｶ年é_'’#")


@given(WEIRD)
def test_every_compiled_text_is_accepted_by_fts5(index, text):
    parsed = parse_query(text)
    compiled = match(text, lambda token: 1)
    assert (compiled is None) == (parsed.is_empty or parsed.raw is not None)
    if compiled is not None:
        found(index, compile_all(compiled.every))
        found(index, compile_any(compiled.some))
        found(index, compile_any(compiled.marked))
    assert parsed.raw is None or not parsed.terms


@given(WEIRD)
def test_any_text_can_be_quoted_for_fts5(index, text):
    found(index, quoted(text))


@given(WEIRD)
def test_what_holds_every_term_holds_some(index, text):
    compiled = match(text, lambda token: 1)
    if compiled is not None and len(compiled.every) < MAX_TOKENS:
        assert set(found(index, compile_all(compiled.every))) <= set(found(index, compile_any(compiled.some)))


@pytest.mark.parametrize("raw", ["a*", 'foo OR "of the"', "foo OR ab *", '"x y"*'])
def test_short_prefixes_are_refused_by_name(raw):
    if "*" not in raw:
        check_prefixes(raw)
        return
    with pytest.raises(InvalidQuery, match="too short"):
        check_prefixes(raw)


@pytest.mark.parametrize("raw", ["*reads", "*id", "* reads", "*"])
def test_a_star_before_everything_is_refused_by_name(raw):
    with pytest.raises(InvalidQuery, match=f"'{re.escape(raw)}' begins with a star; write it behind"):
        check_prefixes(raw)


@pytest.mark.parametrize("raw", ["bar*", "foo OR bar*", "部*", '"new york"*', "a b c", "^foo"])
def test_long_and_cjk_prefixes_are_let_through(raw):
    check_prefixes(raw)


def test_no_letter_number_or_private_sign_is_dropped():
    signs = [chr(code) for code in range(0x110000)]
    searchable = [
        sign for sign in signs if unicodedata.category(sign)[0] in "LN" or unicodedata.category(sign) == "Co"
    ]
    assert len(searchable) > 250_000
    assert [sign for sign in searchable if not has_token(sign)] == []


def test_words_are_folded_runs_of_letters_and_numbers():
    assert words_of("Path/to_FILE-2") == ["path", "to", "file", "2"]
    assert words_of("e\u0301t C++ 部署") == ["et", "c++", "部署"]
    assert not has_token("(*)'\"")
    assert has_token("部")
    assert has_token("٣")
    assert has_token("\ue000")


def kept(terms, frequencies):
    return [unit.term for unit in match_of(terms, analysis, frequencies).every]


def test_a_short_query_is_kept_whole_without_asking_for_frequencies():
    assert kept(["b", "a", "b", "("], never) == ["b", "a"]


def test_the_32_rarest_terms_are_kept_in_their_order():
    terms = [f"w{number}" for number in range(100)]
    frequency = {term: 100 - number for number, term in enumerate(terms)}
    assert kept(terms, lambda asked: frequency) == terms[-MAX_TOKENS:]


def test_terms_that_occur_nowhere_do_not_push_out_the_others():
    known = [f"k{number}" for number in range(MAX_TOKENS)]
    unknown = [f"u{number}" for number in range(50)]
    assert kept(unknown + known, lambda asked: dict.fromkeys(known, 5)) == known


def test_a_phrase_counts_for_its_tokens():
    phrases = [f"a{number}/b{number}" for number in range(20)]
    assert kept(phrases, each(lambda token: int(token[1:]) + 1)) == phrases[:16]


def test_an_endless_phrase_is_taken_apart():
    endless = "/".join(f"t{number}" for number in range(1000))
    numbered = each(lambda token: int(token[1:]) + 1)
    assert kept([endless], numbered) == [f"t{number}" for number in range(MAX_TOKENS)]
    page = "".join(map(chr, range(0x4E00, 0x4E00 + 500)))
    assert kept([page], each(lambda token: ord(token[0]))) == [page[at : at + 2] for at in range(MAX_TOKENS)]


def test_pieces_of_many_terms_are_capped_as_well():
    terms = [f"a{number}/b{number}/c" for number in range(15)]
    some_ = match_of(terms, analysis, each(lambda token: 1 if token[0] == "b" else 2)).some
    assert len(some_) == 31
    terms = [f"rateLimit{chr(ord('a') + number)}" for number in range(25)]
    assert len(match_of(terms, analysis, each(lambda token: 1)).some) == MAX_TOKENS


def test_terms_and_their_pieces_have_32_index_terms_together():
    def searched(count):
        terms = [f"rateLimit{chr(ord('a') + number)}" for number in range(count)]
        found = match_of(terms, analysis, each(lambda token: 1))
        tokens = {token for unit in (*found.every, *found.some) for token in unit.tokens}
        return found, len(tokens)

    (few, of_few), (many, of_many) = searched(5), searched(25)
    assert [unit.term for unit in few.every] == [f"rateLimit{letter}" for letter in "abcde"]
    assert few.every != few.some
    assert many.every == many.some
    assert of_few <= MAX_TOKENS and of_many <= MAX_TOKENS


def test_a_pasted_book_asks_for_a_bounded_number_of_frequencies():
    asked = []

    def noted(terms):
        asked.append(terms)
        return dict.fromkeys(terms, 1)

    match_of([f"w{number}" for number in range(20_000)], analysis, noted)
    assert [len(terms) for terms in asked] == [512]


@given(st.lists(st.text(alphabet="ab/ -1部署A", max_size=8), max_size=60))
def test_never_more_than_32_distinct_tokens_are_searched(terms):
    compiled = match_of(terms, analysis, each(len))
    for units in (compiled.every, compiled.some) if compiled else ():
        assert len(frozenset().union(*(unit.tokens for unit in units))) <= MAX_TOKENS
        assert len(set(units)) == len(units) > 0
