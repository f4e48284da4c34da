"""The window of a snippet equals the one that FTS5 would choose."""

import itertools
import random

import apsw
import pytest

from search import analysis
from search.mirror.query.lexical import compile_match
from search.retrieval.text.marked_window import marked_window
from search.retrieval.text.snippet import CLOSE_MARK, OPEN_MARK, strip_markers

_WORDS = ("apple", "pear", "plums", "plum", "the", "of", "running", "runs", "naïve", "Ärger", "x1")
_ENDS = (" ", " ", " ", " ", ", ", ". ", ": ", ".\n\n", "\n")
_CJK = ("部署指南", "设置", "部署", "指南在部署")


@pytest.fixture(scope="module")
def index():
    connection = apsw.Connection(":memory:")
    analysis.register_tokenizer(connection)
    connection.execute("CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = 'kebab')")
    return connection


def by_fts5(index, text, match, size):
    index.execute("DELETE FROM texts")
    index.execute("INSERT INTO texts VALUES (?)", (text,))
    found = index.execute(
        "SELECT snippet(texts, 0, ?, ?, '…', ?) FROM texts WHERE texts MATCH ?",
        (OPEN_MARK, CLOSE_MARK, size, match.widest),
    ).fetchone()
    return None if found is None else strip_markers(found[0])


def of_tokens(text, match, size):
    return marked_window(text, analysis.analyse(text), match.marked_units, size)


def match_of(query):
    return compile_match(query, lambda terms: dict.fromkeys(terms, 1))


def a_text(rng, words):
    return "".join(rng.choice(words) + rng.choice(_ENDS) for _ in range(rng.randrange(1, 120)))


def test_window_of_prose_is_that_of_fts5(index, subtests):
    for query, size in itertools.product(
        ["apple", "plum running", '"the plum" x1', "naive arger", "apple pear of the"], [1, 5, 10, 55, 64]
    ):
        with subtests.test(query=query, size=size):
            rng, match, compared = random.Random(f"{query} {size}"), match_of(query), 0
            for _ in range(30):
                text = a_text(rng, _WORDS)
                expected = by_fts5(index, text, match, size)
                if expected is not None:
                    assert of_tokens(text, match, size) == expected
                    compared += 1
            assert compared > 15


def test_window_of_a_script_without_spaces_begins_and_ends_where_that_of_fts5_does(index, subtests):
    for query in ("部署", "设置 部署", "指南"):
        rng, match = random.Random(query), match_of(query)
        for number in range(30):
            text = "。".join(rng.choice(_CJK) for _ in range(rng.randrange(1, 40)))
            expected = by_fts5(index, text, match, 10)
            window, highlights = of_tokens(text, match, 10)
            with subtests.test(query=query, number=number):
                assert bool(highlights) == (expected is not None)
                if expected is not None:
                    assert window[:4] == expected[0][:4]
                    assert window.endswith("…") == expected[0].endswith("…")
                    assert all(window[start:end].strip("。") for start, end in highlights)


def test_name_and_its_parts_are_marked_once_and_written_once(index):
    text = "A pointer to the embedded `CMFCPopupMenuBar`."
    match = match_of("CMFCPopupMenu::GetMenuBar")
    assert by_fts5(index, text, match, 55)[0] != text  # FTS5 writes the rest of the text twice
    window, highlights = of_tokens(text, match, 55)
    assert window == text
    assert [window[start:end] for start, end in highlights] == ["CMFCPopupMenuBar"]


def test_window_without_a_match_is_the_start_and_without_a_word_the_whole():
    assert of_tokens("One two three four.", match_of("absent"), 2) == ("One two…", [])
    assert of_tokens("---", match_of("word"), 5) == ("---", [])
    assert of_tokens("", match_of("word"), 5) == ("", [])
