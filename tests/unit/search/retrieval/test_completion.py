import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.retrieval.completion import Typed


@pytest.mark.parametrize(
    ("typed", "heading"),
    [
        ("rate lim", "Rate limits"),
        ("lim rate", "Rate limits"),
        ("lim", "rateLimit()"),
        ("back", "push_back"),
        ("insta", "The Installation"),
        ("部", "阅读部署指南"),
        ("strasse", "Die Straße hier"),
        ("hier", "Die Straße hier"),
        ("e", "Éclair"),
        ("C", "c"),
    ],
)
def test_a_heading_fits_where_its_words_begin_as_typed(typed, heading):
    assert Typed(typed).begins_words_of(heading)


@pytest.mark.parametrize(
    ("typed", "heading"),
    [("imits", "Rate limits"), ("rate x", "Rate limits"), ("署部", "部署"), ("a", ""), ("a", ":\xad")],
)
def test_a_heading_does_not_fit_in_the_middle_of_a_word(typed, heading):
    assert not Typed(typed).begins_words_of(heading)


def test_headings_that_begin_as_typed_come_first_then_the_shorter_ones():
    headings = ["An older push", "Pushing more", "A push", "Pushing"]

    assert sorted(headings, key=Typed("push").order_of) == [
        "Pushing",
        "Pushing more",
        "A push",
        "An older push",
    ]


def test_words_that_go_on_complete_the_last_one():
    typed = Typed("How to inst")

    assert list(typed.completing("Install it. installing inst Other")) == ["install", "installing"]
    assert typed.completed("install") == "How to install"


@pytest.mark.parametrize("text", ["", " ", "(", "\x00"])
def test_what_has_no_word_has_nothing_typed(text):
    assert Typed(text).words == ()


@given(st.text(), st.text(max_size=60))
def test_any_text_can_be_typed(text, heading):
    typed = Typed(text)
    typed.order_of(heading)
    assert typed.words == () or isinstance(typed.begins_words_of(heading), bool)
    assert all(typed.words)
