"""A typed query becomes an equivalent FTS5 expression that FTS5 accepts."""

import re
import unicodedata
from itertools import islice, product
from string import ascii_lowercase as LETTERS
from unittest.mock import Mock

import apsw
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from search import analysis
from search.retrieval.errors import InvalidQuery
from search.retrieval.query.match_units import MAX_TOKENS, compile_all, compile_any, quote_term
from search.retrieval.query.parser import (
    MAX_RAW_CHARS,
    MAX_RAW_TOKENS,
    ParsedQuery,
    check_prefixes,
    check_size,
    parse_query,
)
from search.retrieval.query.plain_match import build_plain_match, content_units, marked_units
from search.retrieval.text.unicode_scripts import has_token, words_of

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


def matching_ids(index, expression):
    rows = index.execute("SELECT chunk_id FROM f WHERE f MATCH ? ORDER BY chunk_id", (expression,))
    return [chunk_id for (chunk_id,) in rows]


def never(terms):
    raise AssertionError(terms)


def each(document_frequency):
    return lambda terms: {term: document_frequency(term) for term in terms}


def match(text, frequencies=never):
    return build_plain_match(parse_query(text).terms, analysis, frequencies)


def every(text):
    return compile_all(match(text).every)


def some(text):
    return compile_any(match(text).some)


def test_terms_are_quoted_and_joined():
    assert every('he"llo') == '"he""llo"'
    assert every("  foo\tbar\n") == '"foo" AND "bar"'
    assert some("foo bar") == '"foo" OR "bar"'
    assert every("( foo *") == some("foo foo -") == '"foo"'


def test_strict_match_finds_chunks_with_every_term(index, subtests):
    assert matching_ids(index, every("foo bar")) == ["both", "code"]
    assert matching_ids(index, every("foo only")) == ["foo"]
    assert matching_ids(index, some("said next.js")) == ["code", "foo"]
    assert matching_ids(index, every("und die Haus")) == ["guide"]
    assert matching_ids(index, every("sind die Brücke")) == ["guide"]
    assert matching_ids(index, every("don't")) == ["foo"]
    cases = [
        "next.js", "C++", "foo-bar", "path/to/file", "a:b", "@angular/core", "NOT", "C++ NOT a:b",
    ]  # fmt: skip
    for text in cases:
        with subtests.test(text=text):
            assert matching_ids(index, every(text)) == ["code"]


def test_relaxed_terms_exclude_uninformative_pieces(subtests):
    cases = [
        ("path/to/file", ["path", "file"]), ("RATE_LIMIT", ["RATE", "LIMIT"]),
        ("rateLimit", ["rateLimit", "rate", "Limit"]), ("C++ C++", ["C++", "C"]),
        ("部署指南", ["部署", "署指", "指南"]), ("2023年に", ["2023", "年に"]), ("2023年", ["2023"]),
        ("年", ["年"]), ("これは設定です", ["は設", "設定", "定で"]),
        ("how does the server don't", ["server"]), ("Newton's laws", ["Newton", "laws"]),
        ("où est l’église d'Arles", ["église", "Arles"]), ("T cells", ["T", "cells"]),
        ("the who", ["the", "who"]), ("rate_limit rate", ["rate", "limit"]),
    ]  # fmt: skip
    for text, pieces in cases:
        with subtests.test(text=text):
            assert [unit.term for unit in match(text).some] == pieces


def test_strict_match_units_have_the_index_terms_of_the_query():
    units = match("path/to/file 部署指南 rateLimit 年").every
    assert [unit.is_word for unit in units] == [False, False, True, False]
    assert [unit.is_prefix for unit in units] == [False, False, False, True]
    assert [len(unit.positions) for unit in units] == [3, 3, 1, 1]
    assert [unit.term for unit in match("Files file FILE 部").every] == ["Files", "部"]
    (und, hauser) = match("und die Häuser").every[0], match("und die Häuser").some[0]
    assert und.positions == (("und",),)
    assert (hauser.positions, hauser.is_word) == ((("hauser", "haus", "haeuser"),), True)
    assert match("Häuser").every[0].positions == (("hauser", "haeuser"),)
    assert [unit.term for unit in match("path/to/file here").marked_units] == ["path/to/file", "path", "file"]
    assert [unit.term for unit in match("path to file").marked_units] == ["path", "file"]
    units = content_units(parse_query("how do rateLimit and 部署指南 relate to C++").terms, analysis)
    assert [unit.term for unit in units] == [
        "rateLimit", "rate", "Limit", "部署", "署指", "指南", "relate", "C++", "C",
    ]  # fmt: skip
    assert content_units(["(", "*"], analysis) == ()


def test_units_of_a_raw_query_are_its_words_and_strings():
    units, language = marked_units("'title: red AND (gre* OR \"blue sky\" NOT NEAR(x y))'", analysis)
    assert ([unit.term for unit in units], language) == (["red", "gre", "blue sky", "x", "y"], None)


def test_one_pair_of_quotes_makes_a_query_raw(index, subtests):
    assert parse_query("'foo OR bar*'") == ParsedQuery(raw="foo OR bar*")
    assert parse_query("  'foo OR bar*'\n") == ParsedQuery(raw="foo OR bar*")
    parsed = parse_query("""'"don't" OR bar'""")
    assert parsed.raw == """"don't" OR bar"""
    assert matching_ids(index, parsed.raw) == ["both", "code", "foo"]
    for text in ["'foo' bar", "'foo' OR 'bar'", "'foo", "foo'", "'", "don't", "'it's'"]:
        with subtests.test(text=text):
            assert parse_query(text) == ParsedQuery(terms=tuple(text.split()))


def test_query_without_words_is_empty(subtests):
    for text in ["", " \n\t", "''", "'  '", "\x00", "(", "*", '"', "\ud800"]:
        with subtests.test(text=text):
            parsed = parse_query(text)
            assert parsed.is_empty
            assert match(text) is None
    assert not parse_query("'foo'").is_empty
    assert not parse_query("( foo").is_empty
    assert parse_query("fo\x00o b\ud800ar \x7f").terms == ("foo", "bar")
    assert parse_query("'fo\x00o'").raw == "foo"


WEIRD = st.text() | st.text(alphabet="'\"() *:^+-{}ANDORNEAR,ab\x00\n部署ｶ年é_'’#")


@given(WEIRD)
@example("a-b")
@example("b e-mail a.b. 1,000")
def test_every_compiled_or_quoted_text_is_accepted_and_what_holds_every_term_holds_some(index, text):
    matching_ids(index, quote_term(text))
    parsed = parse_query(text)
    compiled = match(text, lambda token: 1)
    assert (compiled is None) == (parsed.is_empty or parsed.raw is not None)
    assert parsed.raw is None or not parsed.terms
    if compiled is not None:
        of_every, of_some = (
            matching_ids(index, compile_all(compiled.every)),
            matching_ids(index, compile_any(compiled.some)),
        )
        assert len(compiled.every) >= MAX_TOKENS or set(of_every) <= set(of_some)
        matching_ids(index, compile_any(compiled.marked_units))


def test_raw_prefixes_are_checked(subtests):
    for raw in ("a*", "foo OR ab *", '"x y"*'):
        with subtests.test(raw=raw), pytest.raises(InvalidQuery, match="too short"):
            check_prefixes(raw)
    for raw in ("*reads", "*id", "* reads", "*"):
        with subtests.test(raw=raw), pytest.raises(InvalidQuery, match=f"'{re.escape(raw)}' begins"):
            check_prefixes(raw)
    for raw in ["bar*", "foo OR bar*", "部*", '"new york"*', "a b c", "^foo", 'foo OR "of the"']:
        with subtests.test(raw=raw):
            check_prefixes(raw)


def test_raw_expression_is_limited_in_words_and_characters(subtests):
    words = [f"word{number}" for number in range(MAX_RAW_TOKENS + 1)]
    cases = [
        (" OR ".join(words), f"has {MAX_RAW_TOKENS + 1} words"),
        (" OR ".join(["word"] * 1_000), f"has {8 * 1_000 - 4} characters"),
        ("深" * (MAX_RAW_CHARS + 1), f"has {MAX_RAW_CHARS + 1} characters"),
        ("(" * 100_000, "has 100000 characters"),
    ]
    for raw, named in cases:
        with subtests.test(raw=raw), pytest.raises(InvalidQuery, match=named):
            check_size(raw)
    cases = [
        " OR ".join(words[:MAX_RAW_TOKENS]), " AND NOT ".join(words[: MAX_RAW_TOKENS // 2] * 2),
        "深" * MAX_RAW_CHARS, 'NEAR("a b" c, 5)',
    ]  # fmt: skip
    for raw in cases:
        with subtests.test(raw=raw):
            check_size(raw)


def test_words_are_folded_runs_of_letters_and_numbers():
    assert words_of("Path/to_FILE-2") == ["path", "to", "file", "2"]
    assert words_of("e\u0301t C++ 部署") == ["et", "c++", "部署"]
    assert not has_token("(*)'\"")
    assert has_token("部")
    assert has_token("٣")
    assert has_token("\ue000")
    signs = [chr(code) for code in (*range(0x20000), *range(0x20000, 0x110000, 97))]
    searchable = [
        sign for sign in signs if unicodedata.category(sign)[0] in "LN" or unicodedata.category(sign) == "Co"
    ]
    assert len(searchable) > 70_000
    assert [sign for sign in searchable if not has_token(sign)] == []


def required_terms(terms, frequencies):
    return [unit.term for unit in build_plain_match(terms, analysis, frequencies).every]


def test_rarest_terms_are_kept_in_their_order():
    assert required_terms(["b", "a", "b", "("], never) == ["b", "a"]
    terms = [f"w{number}" for number in range(300)]
    frequency = {term: 300 - number for number, term in enumerate(terms)}
    assert required_terms(terms, lambda asked: frequency) == terms[-MAX_TOKENS:]

    known = [f"k{number}" for number in range(MAX_TOKENS)]
    unknown = [f"u{number}" for number in range(50)]
    assert required_terms(unknown + known, lambda asked: dict.fromkeys(known, 5)) == known

    phrases = [f"a{number}/b{number}" for number in range(150)]
    assert required_terms(phrases, each(lambda token: int(token[1:]) + 1)) == phrases[: MAX_TOKENS // 2]

    words = [first + second for first, second in islice(product(LETTERS, LETTERS), 300)]
    by_order = each(lambda token: words.index(token) + 1)
    assert required_terms(["/".join(words)], by_order) == words[:MAX_TOKENS]
    page = "".join(map(chr, range(0xAC00, 0xAC00 + 500)))
    assert required_terms([page], each(lambda token: ord(token[0]))) == [
        page[at : at + 2] for at in range(MAX_TOKENS)
    ]


def test_pieces_of_many_terms_are_capped():
    terms = [f"a{number}/b{number}/c" for number in range(150)]
    some_ = build_plain_match(terms, analysis, each(lambda token: 1 if token[0] == "b" else 2)).some
    assert len(some_) == MAX_TOKENS - 1

    def match_of_identifiers(count):
        terms = [f"rateLimit{first}{second}" for first, second in islice(product(LETTERS, LETTERS), count)]
        found = build_plain_match(terms, analysis, each(lambda token: 1))
        tokens = {token for unit in (*found.every, *found.some) for token in unit.tokens}
        return found, len(tokens)

    (few, of_few), (many, of_many) = match_of_identifiers(5), match_of_identifiers(150)
    assert [unit.term for unit in few.every] == [f"rateLimita{letter}" for letter in "abcde"]
    assert few.every != few.some
    assert many.every == many.some and len(many.some) == MAX_TOKENS
    assert of_few <= MAX_TOKENS and of_many <= MAX_TOKENS


def test_snippets_mark_the_rarest_of_many_words():
    compiled = build_plain_match(
        [f"w{n}" for n in range(100)], analysis, each(lambda token: 200 - int(token[1:]))
    )
    assert len(compiled.some) == 100
    assert [unit.term for unit in compiled.marked_units] == [
        f"w{n}" for n in range(100 - MAX_RAW_TOKENS, 100)
    ]


def test_last_word_stands_for_words_that_begin_with_it_and_counts_twice_itself():
    plain = build_plain_match(["blue", "car"], analysis, never)
    completed = plain.with_prefix("car", analysis, lambda word, _: [f"{word}go", f"{word}t"])
    assert [unit.positions for unit in completed.every] == [(("blue",),), (("car", "cargo", "cart"),)]
    assert completed.some == (*plain.some, completed.every[1])
    known = [("car", ["car"]), ("carriages", ["carriag"]), ("carriages", [])]
    cases = {
        (word, tuple(found)): plain.with_prefix(word, analysis, lambda *_, found=found: found)
        for word, found in known
        for plain in [build_plain_match([word], analysis, never)]
    }
    assert [len(case.some) for case in cases.values()] == [1, 1, 2]
    for last in ("c", "a/b", "部署"):
        assert build_plain_match([last], analysis, never).with_prefix(last, analysis, never) == (
            build_plain_match([last], analysis, never)
        )


def test_beginnings_of_an_unknown_word_match_among_some_words_alone():
    plain = build_plain_match(["InvoiceB"], analysis, never)
    unknown = plain.with_prefix("InvoiceB", analysis, lambda *_: [])
    assert unknown.every == plain.every
    assert "invoic" in unknown.some[-1].positions[0]
    begun = plain.with_prefix("InvoiceB", analysis, lambda *_: ["invoicebuild"])
    assert begun.every[0].positions == (("invoiceb", "invoicebuild"),)


def test_number_behind_letters_matches_with_its_letters_alone():
    numbered = build_plain_match(["SEV1"], analysis, never).with_prefix(
        "SEV1", analysis, lambda *_: ["sev12"]
    )
    assert [unit.positions for unit in numbered.every[0].synonyms] == [(("sev",), ("1",)), (("sev12",),)]


def test_repeated_words_weigh_more():
    compiled = build_plain_match(["lease", "the", "lease,", "the", "Lease", "car"], analysis, never)
    (lease, car) = compiled.some
    assert compiled.weights == {lease: pytest.approx(3 * 9 / 11)}
    assert car.term == "car"


def test_number_in_parts_is_one_term_that_weighs_more_than_its_parts(subtests):
    cases = [
        ("minutes of February 19, 2026", "minutes of 2026-02-19", 3),
        ("Protokoll vom 19. Februar 2026", "Protokoll vom 19.02.2026", 3),
        ("invoice INV 2024 0117", "invoice INV20240117", 2),
    ]  # fmt: skip
    for text, other, every in cases:
        with subtests.test(text=text):
            compiled, same = (build_plain_match(each.split(), analysis, never) for each in (text, other))
            (number,) = compiled.weights
            assert number in compiled.some
            assert number in same.some
            assert compiled.weights == {number: 2.0}
            assert len(compiled.every) == every
            assert set(number.positions[0]) <= set(compiled.every[-1].joined.positions[0])
    clause, other = (build_plain_match([each], analysis, never) for each in ("5.6", "6.5"))
    assert clause.weights.keys().isdisjoint(other.weights)
    assert set(clause.some) & set(other.some)


def test_a_pasted_book_asks_for_a_bounded_number_of_frequencies():
    frequencies = Mock(side_effect=each(lambda term: 1))
    build_plain_match([f"w{number}" for number in range(20_000)], analysis, frequencies)
    assert [len(call.args[0]) for call in frequencies.call_args_list] == [512]


@given(st.lists(st.text(alphabet="ab/ -1部署A", max_size=8), max_size=60))
def test_never_more_distinct_tokens_than_the_limit_are_searched(terms):
    compiled = build_plain_match(terms, analysis, each(len))
    for units in (compiled.every, compiled.some) if compiled else ():
        assert len(frozenset().union(*(unit.tokens for unit in units))) <= MAX_TOKENS
        assert len(set(units)) == len(units) > 0
