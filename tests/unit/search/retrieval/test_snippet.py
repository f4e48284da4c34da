from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from search import analysis
from search.retrieval.query.parser import index_terms
from search.retrieval.text.snippet import (
    CLOSE_MARK,
    OPEN_MARK,
    best_window,
    cut_text,
    snippet_words,
    strip_markers,
)


def test_marks_become_highlights(subtests):
    assert strip_markers("a [部署] and [b]", "[", "]") == ("a 部署 and b", [(2, 4), (9, 10)])
    cases = [
        ("a]b", "ab", []), ("a[b", "ab", [(1, 2)]), ("[a[b]c]", "abc", [(0, 2)]), ("[]", "", []),
        ("", "", []),
    ]  # fmt: skip
    for marked, text, highlights in cases:
        with subtests.test(marked=marked):
            assert strip_markers(marked, "[", "]") == (text, highlights)
    for chars, words in [(220, 55), (3, 1), (1000, 64), (1, 1), (4, 1), (256, 64), (255, 63)]:
        with subtests.test(chars=chars):
            assert snippet_words(chars) == words


PIECES = st.lists(st.tuples(st.text(st.characters(exclude_characters=OPEN_MARK + CLOSE_MARK)), st.booleans()))


@given(PIECES)
def test_highlights_slice_to_what_was_marked(pieces):
    marked = "".join(f"{OPEN_MARK}{text}{CLOSE_MARK}" if is_marked else text for text, is_marked in pieces)
    text, highlights = strip_markers(marked)
    assert text == "".join(piece for piece, _ in pieces)
    assert [text[start:end] for start, end in highlights] == [
        piece for piece, marked_ in pieces if marked_ and piece
    ]


def test_snippet_is_cut_to_code_points():
    text = "é👩‍👩‍👧部署指南"
    assert cut_text(text, [(1, 6), (6, 8)], 4) == (text[:4], [(1, 4)])
    assert cut_text("e\u0301x", [(0, 3)], 1) == ("e", [(0, 1)])
    assert cut_text("abc", [(0, 1)], 3) == ("abc", [(0, 1)])
    text = "some long words that come before the needle that is sought after here"
    snippet, highlights = cut_text(text, [(37, 43)], 20)
    assert snippet == "needle that is sough"
    assert [snippet[start:end] for start, end in highlights] == ["needle"]


@st.composite
def highlighted_text(draw):
    text = draw(st.text(max_size=80))
    borders = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pairs = zip(borders[::2], borders[1::2], strict=False)
    return text, [(start, end) for start, end in pairs if start < end]


@given(highlighted_text(), st.integers(1, 90))
def test_a_cut_stays_in_bounds_and_keeps_highlights_on_their_text(case, max_chars):
    text, highlights = case
    snippet, kept = cut_text(text, highlights, max_chars)
    assert len(snippet) <= max_chars and snippet in text
    assert all(0 <= start < end <= len(snippet) for start, end in kept)
    assert bool(kept) == bool(highlights)
    marked = [text[start:end] for start, end in highlights]
    assert all(any(snippet[start:end] in whole for whole in marked) for start, end in kept)


def window(text, terms, max_chars):
    return best_window(text, index_terms(terms, analysis), analysis.analyse, max_chars)


def slices(snippet_and_highlights):
    snippet, highlights = snippet_and_highlights
    return [snippet[start:end] for start, end in highlights]


def test_best_window_of_a_text():
    text = "rate rate rate rate. " + "filler " * 20 + "the rate limit is checked here. " + "filler " * 20
    snippet, _ = best = window(text, ["rate", "limit"], 40)
    assert slices(best) == ["rate", "limit"]
    assert "rate limit" in snippet and len(snippet) <= 40
    text = "alpha one. " + "x " * 50 + "alpha two."
    assert window(text, ["alpha"], 20)[0].startswith("alpha one.")
    text = "abcdefghij " * 10 + "needle " + "abcdefghij " * 10
    snippet, _ = window(text, ["needle"], 50)
    assert snippet.startswith("abcdefghij ") and "needle" in snippet
    assert window("  Hello there", ["absent", "("], 5) == ("Hello", [])
    assert window("", ["a"], 5) == ("", [])
    text = "one two three four five six needle"
    snippet, _ = window(text, ["needle"], 20)
    assert snippet == "four five six needle"


def test_terms_are_marked_as_the_index_finds_them(subtests):
    cases = [
        ("Searching and search", ["SEARCHES"], ["Searching", "search"]), ("install a tin", ["in"], []),
        ("研究部署指南", ["部署"], ["部署"]), ("研究部署指南", ["署指南"], ["署指南"]),
        ("研究部署指南", ["署"], ["署"]), ("署署指署", ["署"], ["署署", "署"]), ("ﾊﾞｽ", ["ﾊﾞ"], ["ﾊﾞ"]),
        ("an a", ["a", "年"], []), ("STRASSE İstanbul straße", ["straße"], ["STRASSE", "straße"]),
        ("see next.js now", ["(next.js)"], ["next.js"]),
        ("the path/to/file of a file path", ["path/to/file"], ["path", "file", "file", "path"]),
        ("é rateLimit, rate_limits", ["limit"], ["Limit", "limits"]),
        ("é rateLimit, rate_limits", ["rate", "limit"], ["rateLimit", "rate_limits"]),
        ("Die Häuser sind mit dem Dach", ["die", "Dächer", "und", "Haus"], ["Häuser", "Dach"]),
        ("C++ or c", ["C++"], ["C++", "c"]), ("how the rate is", ["how", "is", "the", "rate"], ["rate"]),
    ]  # fmt: skip
    for text, terms, marked in cases:
        with subtests.test(text=text):
            assert slices(window(text, terms, 100)) == marked


WORDS = st.lists(st.sampled_from(["rate", "limit", "a", "部署", "é", "\n", "x-y", "Rate"]), max_size=40)


@given(WORDS.map(" ".join) | st.text(), WORDS | st.lists(st.text()), st.integers(1, 60))
def test_a_window_is_text_within_bounds_and_holds_a_term_if_there_is_one(text, terms, max_chars):
    snippet, highlights = window(text, terms, max_chars)
    assert snippet in text and len(snippet) <= max_chars
    assert all(0 <= start < end <= len(snippet) for start, end in highlights)
    assert all(end <= start for (_, end), (start, _) in pairwise(highlights))
    assert window(text, terms, max_chars) == (snippet, highlights)
    assert bool(highlights) == bool(window(text, terms, 10_000)[1])
