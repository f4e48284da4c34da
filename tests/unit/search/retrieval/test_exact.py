import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.analysis import STEMMED
from search.retrieval.query.exact import (
    ALONE_WEIGHT,
    MAX_CHARS,
    MAX_TERMS,
    MIXED_WEIGHT,
    exact_terms,
    exact_weight,
    lone_name,
    number_names,
)
from search.retrieval.text.unicode_scripts import has_token


def test_names_and_quoted_phrases_are_found(subtests):
    cases = [
        ("push_back", ["push_back"]), ("how to use getCollection() in astro", ["getCollection()"]),
        ("malloc() fails", ["malloc()"]), ("Compiler Error C2065:", ["C2065"]), ("LNK2019.", ["LNK2019"]),
        ("RATE_LIMIT and __init__", ["RATE_LIMIT", "__init__"]),
        ("std::vector::push_back", ["std::vector::push_back"]),
        ("vector<bool>::pointer", ["vector<bool>::pointer"]),
        ("duration::operator-=", ["duration::operator-="]), ("--dry-run=yes", ["--dry-run"]),
        ("/EHsc", ["/EHsc"]), ("/P", ["/P"]), ("next.js", ["next.js"]),
        ("(see os.path.join).", ["os.path.join"]), ("@angular/core", ["@angular/core"]),
        ("path/to/file", ["path/to/file"]), ("astro:content", ["astro:content"]),
        ("#include <stdio.h>", ["#include", "<stdio.h>"]), ("<Image /> props", ["<Image />"]),
        ("HTTPServer CString iPhone", ["HTTPServer", "CString", "iPhone"]), ("BSkyBの放送", ["BSkyB"]),
        ('"rate limit" exceeded', ["rate limit"]),
        ("`malloc` “a phrase” «une phrase» „ein Satz“", ["malloc", "a phrase", "une phrase", "ein Satz"]),
        ('"one   two"', ["one two"]), (" sha256 ", ["sha256"]),
        ("floor(duration)", ["floor(duration)"]), ("what floor(duration) does", []),
    ]  # fmt: skip
    for query, names in cases:
        with subtests.test(query=query):
            assert exact_terms(query) == tuple(names)


def test_prose_holds_none_and_names_are_bounded(subtests):
    cases = [
        "how do I install the server?", "and/or, his/her", "two-dimensional boundary-layer flow",
        "e.g. the U.S. economy, i.e. a Ph.D.", "NASA and the FBI", "McDonald and MacArthur",
        "GPUs at 3.5 GHz, 24/7, at 10:30", "p53 in cells of type2", "3d", "the author(s)", "don't",
        "什么是部署", "", "(", '"', '""', '"("', "'getUser OR setUser'",
    ]  # fmt: skip
    for query in cases:
        with subtests.test(query=query):
            assert exact_terms(query) == ()
    assert exact_terms("a_b c_d a_b") == ("a_b", "c_d")
    assert len(exact_terms(" ".join(f"name_{n}" for n in range(50)))) == MAX_TERMS
    assert exact_terms("a_" * MAX_CHARS) == ()
    assert exact_terms('"' + "word " * MAX_CHARS + '"') == ()


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200))
def test_any_text_gives_names_that_have_index_terms(text):
    for name in exact_terms(text):
        assert has_token(name)
        assert len(name) <= MAX_CHARS


def test_numbers_in_parts_are_names_whatever_else_is_asked():
    assert list(number_names("what about 10.1.1.20 on 19. Februar 2026", STEMMED)) == [
        *("10.1.1.20", "19. Februar 2026"),
    ]
    assert len(number_names(" ".join(f"1.{n}" for n in range(50)), STEMMED)) == MAX_TERMS
    assert number_names("sha256 in 2024", STEMMED) == {}
    assert exact_weight("the clause 5.6", (), ["5.6"]) == pytest.approx(MIXED_WEIGHT / 1.125)
    sentence = " ".join(f"word{n}x" for n in range(10))
    assert exact_weight(f"{sentence} 5.6", (), ["5.6"]) == 3.0


def test_exact_weight_is_higher_for_names_without_other_words(subtests):
    def weight(text):
        return exact_weight(text, exact_terms(text))

    assert weight("push_back") == ALONE_WEIGHT
    assert weight("the push_back") == ALONE_WEIGHT
    assert weight("error C2065 undeclared") == MIXED_WEIGHT / 2
    assert weight('"rate limit" exceeded today') == MIXED_WEIGHT / 2
    assert weight("BSkyB放送放送") == MIXED_WEIGHT / 2
    assert weight(f"PrP {' '.join(f'word{n}x' for n in range(10))}") == pytest.approx(MIXED_WEIGHT / 126)
    cases = [
        ("strtoul", "strtoul"), (" Full ", "Full"), ("two words", None), ("部署", None), ("", None),
        ("(", None),
    ]  # fmt: skip
    for query, word in cases:
        with subtests.test(query=query):
            assert lone_name(query) == word
