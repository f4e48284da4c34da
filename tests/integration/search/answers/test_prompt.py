"""Citation markers are parsed strictly, and only the model writes them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.answers.extract import Sentence, format_sentences
from search.answers.prompt import (
    MarkupNeutraliser,
    judge_markers,
    neutralise_markup,
    replace_markers,
    strip_invisible,
)
from search.answers.quotes import Quote
from search.answers.types import AnswerReason

_MARKER = re.compile(r"\[#\d{1,3}\]")
# Signs of which markers, links and elements are made, more often than by chance, and markers that have, or
# lack nothing but, one of them.
_SIGN = st.sampled_from("[]#()<>!/:0123456789 \n\x7f\u200b［］＃７ia") | st.characters()
_NEARLY = st.builds(str.format, st.sampled_from(["[#7]{}", "[{}#7]", "[#{}7]", "[#7{}]", "<{}img>"]), _SIGN)
_TEXT = st.lists(_SIGN | _NEARLY, max_size=40).map("".join)


VERDICTS = [
    ("a [#1]", (1,), None),
    ("[#2] b [#1] c [#2]", (2, 1), None),
    ("[#1][#2]", (1, 2), None),
    ("a [#3]", (), AnswerReason.UNKNOWN_MARKER),
    ("[#1] [#3]", (1,), AnswerReason.UNKNOWN_MARKER),
    ("[#02]", (), AnswerReason.UNKNOWN_MARKER),
    ("[#٢]", (), AnswerReason.NO_MARKER),
    ("[# 1] [1] (#1) #1", (), AnswerReason.NO_MARKER),
    ("[#1234]", (), AnswerReason.NO_MARKER),
    ("", (), AnswerReason.EMPTY),
]


def test_text_is_judged_by_its_markers(subtests):
    for text, named, reason in VERDICTS:
        with subtests.test(text=text):
            verdict = judge_markers(text, [1, 2])
            assert verdict == (named, reason)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("so it is [#7].", "so it is (no. 7)."),
        ("[ #7 ] [#\u200b7] [#7\u200b] [\u202e#7]", "(no. 7) (no. 7) (no. 7) (no. 7)"),
        ("［＃７］ 【#7】 {#7} (#7)", "(no. ７) (no. 7) (no. 7) (no. 7)"),
        ("[[#7]]", "[(no. 7)]"),
        ("[[#1]#7]", "[(no. 1)#7]"),
        ("[#1] of issue #12 and [1], arr[7]", "(no. 1) of issue #12 and [1], arr[7]"),
    ],
)
def test_marker_like_text_in_a_document_is_not_a_marker(text, shown):
    assert replace_markers(text) == shown


@given(_TEXT)
def test_no_document_holds_a_marker(text):
    assert not _MARKER.search(replace_markers(text))


@given(_TEXT)
def test_quoted_text_in_an_answer_has_only_its_own_marker(text):
    formatted = format_sentences(
        [Sentence(n=900, quote=Quote(verbatim=text, lead=text, block=text), terms=frozenset())]
    )
    assert _MARKER.findall(formatted) == ["[#900]"]


TAMED = [
    ("![x](https://evil.example/?q=1)", "![x] (https://evil.example/?q=1)"),
    ("[click](javascript:alert(1))", "[click] (javascript:alert(1))"),
    ("![x][y]\n\n[y]: https://evil.example", "![x] [y]\n\n[y] : https://evil.example"),
    ("<img src=//evil.example>", "< img src=//evil.example>"),
    ("< /script ><ScRiPt>", "< /script >< ScRiPt>"),
    ("<https://evil.example>", "< https://evil.example>"),
    ("So it is [#1](https://evil.example) [#2].", "So it is [#1] (https://evil.example) [#2]."),
    ("vector<int> a[1] = f(x)[0]; if (a < b)", "vector<int> a[1] = f(x)[0]; if (a < b)"),
    ("a\x00b\x1b[31mc\u202ed\ud800e", "ab[31mcde"),
]


def test_text_of_a_model_fetches_and_links_nothing(subtests):
    for text, shown in TAMED:
        with subtests.test(text=text):
            assert neutralise_markup(text) == shown


@given(st.lists(_TEXT, max_size=8))
def test_streamed_text_is_sanitised_like_a_whole_one(pieces):
    taming = MarkupNeutraliser()
    given_on = [taming.feed(piece) for piece in pieces]

    assert "".join([*given_on, taming.finish()]) == neutralise_markup("".join(pieces))


@given(_TEXT)
def test_sanitised_text_has_exactly_its_visible_markers(text):
    assert _MARKER.findall(neutralise_markup(text)) == _MARKER.findall(strip_invisible(text))
