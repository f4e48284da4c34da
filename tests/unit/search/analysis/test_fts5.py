"""FTS5 finds and highlights texts by the analysis."""

import apsw
from hypothesis import example, given
from hypothesis import strategies as st

from search import analysis
from search.retrieval.query.match_units import compile_all
from search.retrieval.query.parser import parse_query
from search.retrieval.query.plain_match import build_plain_match
from tests.unit.search.analysis.characters import SIGNS

GERMAN = "Die Häuser sind mit einem Dach versehen"


def highlight(table, text, expression):
    """Return the text with FTS5's marks; None where it does not match."""
    table.execute("DELETE FROM f")
    table.execute("INSERT INTO f (rowid, text) VALUES (1, ?)", (text,))
    row = table.execute("SELECT highlight(f, 0, '[', ']') FROM f WHERE f MATCH ?", (expression,)).fetchone()
    return row and row[0]


def highlight_query(table, text, query):
    match = build_plain_match(parse_query(query).terms, analysis, lambda terms: dict.fromkeys(terms, 1))
    return match and highlight(table, text, compile_all(match.every))


def test_texts_and_raw_expressions_are_found_and_marked(subtests, table):
    cases = [
        ("新しい設定方法について", "設定", "新しい[設定]方法について"),
        ("研究部署指南。", "部署指南", "研究[部署指南]。"), ("충돌은 나쁘다", "충돌", "[충돌]은 나쁘다"),
        ("用于API部署的指南", "部署", "用于API[部署]的指南"),
        ("部署 the application", "application 部署", "[部署] the [application]"),
        ("一部署名", "署", "一部[署名]"), ("部署", "署", "部[署]"), ("2023年に", "2023年", "[2023年に]"),
        ("東京2020大会", "東京2020", "[東京2020]大会"), ("𠮷野家", "𠮷野", "[𠮷野]家"),
        ("RATE_LIMIT_TRUSTED_PROXY_HOPS=1", "RATE_LIMIT", "[RATE_LIMIT]_TRUSTED_PROXY_HOPS=1"),
        ("call rateLimit(1)", "rate limit", "call [rateLimit](1)"),
        ("the rate_limit", "rate limit", "the [rate]_[limit]"),
        ("a RateLimit", "rate limit", "a [RateLimit]"),
        ("call rateLimit(1)", "limit", "call rate[Limit](1)"),
        ("call rateLimit(1)", "ratelimit", "call [rateLimit](1)"),
        ("é rateLimit é", "limit", "é rate[Limit] é"), ("use next.js now", "next.js", "use [next.js] now"),
        ("C or C++", "C++", "C or [C++]"), ("C or C++", "c", "[C] or [C++]"),
        ("F# and .NET", ".net", "F# and [.NET]"), ("foo-bar", "foo-bar", "[foo-bar]"),
        ("path/to/file.txt", "path/to/file", "[path/to/file].txt"), ("I don't", "don't", "I [don't]"),
        ("x a:b", "a:b", "x [a:b]"), ("@angular/core", "@angular/core", "@[angular/core]"),
        ("do NOT", "NOT", "do [NOT]"),
        (GERMAN, "sind die Dächer", "[Die] Häuser [sind] mit einem [Dach] versehen"),
        (GERMAN, "Haus", "Die [Häuser] sind mit einem Dach versehen"), (GERMAN, "Dächer", None),
    ]  # fmt: skip
    for text, query, expected in cases:
        with subtests.test(text=text):
            assert highlight_query(table, text, query) == expected
    cases = [
        ('"rate limit"', "[rateLimit] of 部署指南"), ("ratelim*", "[rateLimit] of 部署指南"),
        ("部署指南", "rateLimit of [部署指南]"), ("rate NOT 部署", None),
        ("NEAR(rate 指南)", "[rateLimit] of 部署[指南]"),
    ]  # fmt: skip
    for raw, expected in cases:
        with subtests.test(raw=raw):
            assert highlight(table, "rateLimit of 部署指南", raw) == expected


# A query's terms as a text has them, among others.
PRINTABLE = st.characters(exclude_categories=["Cc", "Cs"])
WORDS = st.lists(st.text(alphabet=SIGNS) | st.text(PRINTABLE), min_size=1, max_size=6)


@given(WORDS)
@example(["İ", "ẞ", "ـ", "die Häuser der Straße"])
def test_a_text_is_found_by_each_of_its_terms(table, words):
    text = " ".join(words)
    for term in text.split():
        if analysis.query_terms(term) and parse_query(term).raw is None:
            assert highlight_query(table, text, term) is not None


@given(st.text(alphabet=SIGNS))
def test_fts5_table_passes_its_integrity_check_after_a_delete(text):
    connection = apsw.Connection(":memory:")
    analysis.register_tokenizer(connection)
    connection.execute("CREATE VIRTUAL TABLE f USING fts5 (text, tokenize = 'kebab')")
    connection.execute("INSERT INTO f (f, rank) VALUES ('secure-delete', 1)")
    connection.execute("INSERT INTO f (rowid, text) VALUES (1, ?), (2, ?)", (text, text[::-1]))
    connection.execute("DELETE FROM f WHERE rowid = 1")
    connection.execute("INSERT INTO f (f, rank) VALUES ('integrity-check', 1)")
    connection.close()
