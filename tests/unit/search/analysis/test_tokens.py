"""The analysis splits a text into index terms with their byte ranges."""

import unicodedata
from concurrent.futures import ThreadPoolExecutor

from hypothesis import example, given
from hypothesis import strategies as st

from search.analysis import analyse, is_prefix, joined_terms, query_terms, query_tokens, relaxed_terms
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
        ("Path/to_FILE-2", [("Path", "path"), ("to", "to"), ("FILE", "file", "file2"), ("2", "2")]),
        ("Größe, naïve", [("Größe", "gross", "groess", "=größe"), ("naïve", "naiv", "=naïve")]),
        ("running connections", [("running", "run"), ("connections", "connect")]),
        ("ｆｕｌｌ ﬁle", [("ｆｕｌｌ", "full"), ("ﬁle", "file")]),
        ("pass\u00adword", [("pass\u00adword", "password")]),
        ("Новый ёж", [("Новый", "нов"), ("ёж", "еж", "=ёж")]), ("كِتَاب", [("كِتَاب", "كتاب")]),
        ("हिन्दी", [("हिन्दी", "हिन्द")]),
        ("rateLimit", [("rateLimit", "rate", "ratelimit"), ("Limit", "limit")]),
        ("RateLimit", [("RateLimit", "rate", "ratelimit"), ("Limit", "limit")]),
        ("HTTPServer", [("HTTPServer", "http", "httpserver"), ("Server", "server")]),
        ("RATE_LIMIT", [("RATE", "rate"), ("LIMIT", "limit")]),
        ("sha256", [("sha256", "sha", "sha256"), ("256", "256")]),
        ("v2 x86", [("v2", "2", "v2"), ("x86", "x86")]), ("LaTeX", [("LaTeX", "latex")]),
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
        ("API部署v2", [("API", "api"), ("部署", "部署"), ("署", "署"), ("v2", "2", "v2")]),
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


def test_letters_without_decomposition_are_those_that_people_type():
    words = ["Łódź", "Ørsted", "Đức", "Ægir", "Œuvre", "Þingvellir", "Ħamrun", "Iğdır"]
    assert [fold(word) for word in words] == [
        *("lodz", "orsted", "duc", "aegir", "oeuvre", "thingvellir", "hamrun", "igdir"),
    ]
    assert fold("کیف") == fold("كيف")
    assert fold("۴۲") == fold("٤٢") == "42"


def test_umlauts_equal_two_letters_except_where_they_are_letters():
    assert set(query_terms("Jäger")[0]) & set(query_terms("Jaeger")[0])
    finnish = "Hän on täällä mutta en tiedä mitä se oli kun hän tuli"
    assert next(each for each in pieces(finnish) if each[0] == "täällä")[:2] == ("täällä", "taalla")
    assert not any("taeaella" in each for each in pieces(finnish))


def test_numbers_with_units_are_indexed_whole_and_in_parts(subtests):
    cases = [
        ("32GB", [("32GB", "32", "32gb"), ("GB", "gb")]), ("7km", [("7km", "7", "7km"), ("km", "km")]),
        ("21st 3D", [("21st", "21st"), ("3D", "3d")]), ("v3.1", [("v3", "3", "v3", "3\ua78f1"), ("1", "1")]),
        ("OpenID2", [("OpenID2", "open", "openid2", "openid"), ("ID", "id"), ("2", "2")]),
        ("120m²", [("120m²", "120", "120m2"), ("m²", "m2")]), ("CO₂", [("CO₂", "co", "co2"), ("₂", "2")]),
    ]  # fmt: skip
    for text, expected in cases:
        with subtests.test(text=text):
            assert pieces(text) == expected
    assert query_terms("32GB") == (("32",), ("gb",))
    assert query_terms("120m2") == query_terms("120m²") == (("120",), ("m2",))
    assert query_terms("v3.1") == (("3",), ("1",))
    assert query_terms("OpenID2") == (("openid2",),)


def test_fractions_and_powers_are_two_numbers(subtests):
    cases = [
        ("½", [("½", "1"), ("½", "2")]), ("1¾", [("1", "1"), ("¾", "3"), ("¾", "4")]),
        ("10³", [("10", "10"), ("³", "3")]), ("m³ x²", [("m³", "m3"), ("x²", "x2")]),
    ]  # fmt: skip
    for text, expected in cases:
        with subtests.test(text=text):
            assert pieces(text) == expected
    assert query_terms("½") == query_terms("1/2") == (("1",), ("2",))
    assert query_terms("5µm") == query_terms("5\u03bcm") == query_terms("5um")


def test_chinese_characters_count_as_their_simplified_ones():
    assert query_terms("系統維護") == query_terms("系统维护")
    assert [terms for _, *terms in pieces("停車場")] == [terms for _, *terms in pieces("停车场")]


def test_word_in_parts_is_indexed_as_a_whole_as_well(subtests):
    cases = [
        ("a co-worker", "cowork", True), ("the U.K.", "uk", True), ("1,234,567", "1234567", True),
        ("12.345", "12345", True), ("1\u202f234", "1234", True), ("UTF-8", "utf8", True),
        ("e\u2011mail", "email", True), ("数\n据库", "数据", True), ("デー\n  タ", "ータ", True),
        ("12,34", "1234", False), ("2026-11-26", "20261126", False), ("co- worker", "cowork", False),
        ("end-to-end-test", "endtoendtest", False), ("next.js", "nextj", False),
        ("数\n\n据库", "数据", False),
    ]  # fmt: skip
    for text, term, is_indexed in cases:
        with subtests.test(text=text):
            assert (term in {each for piece in pieces(text) for each in piece[1:]}) is is_indexed
    assert joined_terms("co-worker") == ("cowork",)
    assert joined_terms("a co-worker") == joined_terms("end-to-end-test") == ()
    assert relaxed_terms("wi-fi") == ("wifi", "wi", "fi")


def test_emoji_are_words():
    assert pieces("done 🎉🎉 ✔️") == [
        *(("done", "done"), ("🎉", "🎉"), ("🎉", "🎉"), ("✔️", "✔")),
    ]
    assert pieces("👩🏽‍💻") == [("👩🏽‍💻", *query_terms("👩‍💻")[0])]
    assert pieces("🇩🇪🇫🇷") == [("🇩🇪", "🇩🇪"), ("🇫🇷", "🇫🇷")]


def test_german_words_are_stemmed_by_document_and_query_language(subtests):
    german = "Die Häuser sind mit einem Dach versehen"
    assert ("Häuser", "hauser", "haus", "haeuser", "=häuser") in pieces(german)
    assert pieces("Häuser") == [("Häuser", "hauser", "haeuser", "=häuser")]
    assert query_terms("Haus", "de") == (("haus",),)
    assert query_terms("Häuser", "de") == (("hauser", "haus", "haeuser"),)
    assert all(
        len(token) == 3 for token in analyse("what is the meaning of the words 'est et sont' in French")
    )
    cases = [
        ("部署指南", ("部署", "署指", "指南"), False), ("署", ("署",), True),
        ("2023年", ("2023", "年"), True), ("東京2020", ("东京", "京", "2020"), False),
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
def test_ascii_fast_path_equals_the_general_analysis(text):
    beside = analyse(f"{text}\n\u00e9")
    assert beside[:-1] == analyse(text)


def test_folded_characters_contain_no_fts5_string_delimiter():
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
