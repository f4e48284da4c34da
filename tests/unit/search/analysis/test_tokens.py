"""The analysis splits a text into index terms with their byte ranges."""

import unicodedata
from concurrent.futures import ThreadPoolExecutor

from hypothesis import example, given
from hypothesis import strategies as st

from search.analysis import analyse, is_prefix, query_terms, query_tokens, relaxed_terms
from search.analysis import tokens as token_module
from search.analysis.stems import LANGUAGE_STEMMERS, stem_in
from search.retrieval.text.unicode_scripts import fold, has_token
from tests.unit.search.analysis.characters import SIGNS

TEXTS = st.one_of(st.text(), st.text(alphabet=SIGNS), st.text(st.characters(codec="ascii")))


def pieces(text):
    """Return the text and the terms of each token."""
    octets = text.encode()
    return [(octets[start:end].decode(), *terms) for start, end, *terms in analyse(text)]


def test_text_falls_into_folded_stemmed_and_parted_tokens(subtests):
    cases = [
        ("Path/to_FILE-2", [("Path", "path"), ("to", "to"), ("FILE", "file"), ("2", "2")]),
        ("Größe, naïve", [("Größe", "gross"), ("naïve", "naiv")]),
        ("running connections", [("running", "run"), ("connections", "connect")]),
        ("ｆｕｌｌ ﬁle", [("ｆｕｌｌ", "full"), ("ﬁle", "file")]),
        ("pass\u00adword", [("pass\u00adword", "password")]),
        ("Новый ёж", [("Новый", "нов"), ("ёж", "еж")]), ("كِتَاب", [("كِتَاب", "كتاب")]),
        ("हिन्दी", [("हिन्दी", "हिन्द")]),
        ("rateLimit", [("rateLimit", "rate", "ratelimit"), ("Limit", "limit")]),
        ("RateLimit", [("RateLimit", "rate", "ratelimit"), ("Limit", "limit")]),
        ("HTTPServer", [("HTTPServer", "http", "httpserver"), ("Server", "server")]),
        ("RATE_LIMIT", [("RATE", "rate"), ("LIMIT", "limit")]),
        ("sha256", [("sha256", "sha", "sha256"), ("256", "256")]),
        ("v2 x86", [("v2", "v2"), ("x86", "x86")]), ("LaTeX", [("LaTeX", "latex")]),
        (
            "getUserById",
            [("getUserById", "get", "getuserbyid"), ("User", "user"), ("By", "by"), ("Id", "id")],
        ),
        ("toDoIfOk", [("toDoIfOk", "todoifok")]),
        ("SGVsbG8gd29ybGQhIFdlbGNvbWU", [("SGVsbG8gd29ybGQhIFdlbGNvbWU", "sgvsbg8gd29ybgqhifdlbgnvbwu")]),
        ("C++ or C", [("C++", "c", "c++"), ("or", "or"), ("C", "c")]),
        ("F#, see #c#", [("F#", "f", "f#"), ("see", "see"), ("c#", "c", "c#")]),
        (".NET and asp.net", [(".NET", "net", ".net"), ("and", "and"), ("asp", "asp"), ("net", "net")]),
        ("a+b ab#1", [("a", "a"), ("b", "b"), ("ab", "ab"), ("1", "1")]),
        ("部署指南", [("部署", "部署"), ("署指", "署指"), ("指南", "指南"), ("南", "南")]),
        ("충돌은", [("충돌", "충돌"), ("돌은", "돌은"), ("은", "은")]),
        ("𠮷野", [("𠮷野", "𠮷野"), ("野", "野")]),
        ("API部署v2", [("API", "api"), ("部署", "部署"), ("署", "署"), ("v2", "v2")]),
        ("ｶﾞｷ", [("ｶﾞｷ", "ガキ"), ("ｷ", "キ")]), ("กำ", [("กำ", "กํา"), ("ำ", "ํา")]),
        ("か\u3099き", [("か\u3099き", "がき"), ("き", "き")]),
        (
            unicodedata.normalize("NFD", "한글"),
            [(unicodedata.normalize("NFD", w), w) for w in ("한글", "글")],
        ),
    ]  # fmt: skip
    for text, expected in cases:
        with subtests.test(text=text):
            assert pieces(text) == expected
    for language in sorted(LANGUAGE_STEMMERS):
        with subtests.test(language=language):
            assert stem_in(language, "abc")


def test_foreign_text_and_query_terms(subtests):
    german = "Die Häuser sind mit einem Dach versehen"
    assert ("Häuser", "hauser", "haus") in pieces(german)
    assert ("Häuser", "hauser") in pieces("Häuser")
    assert query_terms("Haus", "de") == (("haus",),)
    assert query_terms("Häuser", "de") == (("hauser", "haus"),)
    assert all(
        len(token) == 3 for token in analyse("what is the meaning of the words 'est et sont' in French")
    )
    cases = [
        ("部署指南", ("部署", "署指", "指南"), False), ("署", ("署",), True),
        ("2023年", ("2023", "年"), True), ("東京2020", ("東京", "京", "2020"), False),
        ("rateLimit", ("ratelimit",), False), ("api.rateLimit", ("api", "rate", "limit"), False),
        ("C++", ("c++",), False), ("path/to/files", ("path", "to", "file"), False), ("(*)", (), False),
    ]  # fmt: skip
    for term, tokens, prefix in cases:
        with subtests.test(term=term):
            assert query_tokens(term) == tokens
            assert is_prefix(term) is prefix

    cases = [
        ("RATE_LIMIT", ("RATE", "LIMIT")), ("rateLimit", ("rateLimit", "rate", "Limit")),
        ("C++", ("C++", "C")), ("部署指南v2", ("部署", "署指", "指南", "v2")), ("word", ("word",)),
        ("(", ()),
    ]  # fmt: skip
    for term, pieces_ in cases:
        with subtests.test(term=term):
            assert relaxed_terms(term) == pieces_
    assert pieces("a" * 1_000)[0][1:] == ("a" * 128,)
    assert query_tokens("a" * 1_000) == ("a" * 128,)


@given(TEXTS)
@example("ـ \u0301 a\u0301")
@example("\u00ad")
def test_tokens_have_correct_ordered_ranges_and_can_be_queried(text):
    assert has_token(text) == bool(analyse(text)) == bool(query_terms(text)) == bool(relaxed_terms(text))
    octets = text.encode()
    before = 0
    for start, end, *of_token in analyse(text):
        assert before <= start < end <= len(octets)
        assert fold(octets[start:end].decode())
        assert of_token
        assert all(of_token)
        assert len(set(of_token)) == len(of_token)
        before = start


@given(st.text(st.characters(codec="ascii")))
def test_the_way_for_ascii_agrees_with_the_way_for_all(text):
    beside = analyse(f"{text}\n\u00e9")
    assert beside[:-1] == analyse(text)


def test_no_term_can_end_a_string_of_fts5():
    codes = [*range(0xD800), *range(0xE000, 0x20000), *range(0x20000, 0x110000, 97)]
    signs = [chr(code) for code in codes]
    unsafe = {'"', *map(chr, range(0x20))}
    folded = [fold(sign) for sign in signs if has_token(sign)]
    assert len(folded) > 70_000
    assert not any(unsafe.intersection(term) for term in folded)


def test_tokens_stay_the_same_and_their_cache_bounded_when_it_is_full(monkeypatch):
    monkeypatch.setattr(token_module, "_MAX_CACHED_RUNS", 8)
    monkeypatch.setattr(token_module, "_run_caches", token_module._RunCaches())
    words = " ".join(f"word{number}" for number in range(20))
    expected = pieces(words)
    token_module.analyse.cache_clear()
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(pieces, [words + " " * number for number in range(8)]))
    assert found == [expected] * 8
    assert sum(map(len, token_module._run_caches.values())) <= 8 + 4
