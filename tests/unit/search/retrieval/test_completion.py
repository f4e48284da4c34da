from hypothesis import given
from hypothesis import strategies as st

from search.retrieval.query.completion import TypedText


def test_heading_fits_where_its_words_begin_as_typed(subtests):
    fitting = [
        ("rate lim", "Rate limits"), ("lim rate", "Rate limits"), ("lim", "rateLimit()"),
        ("back", "push_back"), ("insta", "The Installation"), ("部", "阅读部署指南"),
        ("strasse", "Die Straße hier"), ("hier", "Die Straße hier"), ("e", "Éclair"), ("C", "c"),
    ]  # fmt: skip
    others = [
        ("imits", "Rate limits"), ("rate x", "Rate limits"), ("署部", "部署"), ("a", ""), ("a", ":\xad"),
    ]  # fmt: skip
    for typed, heading in (*fitting, *others):
        with subtests.test(typed=typed):
            assert TypedText(typed).begins_words_of(heading) is ((typed, heading) in fitting)


def test_completions_and_their_order(subtests):
    headings = ["An older push", "Pushing more", "A push", "Pushing"]
    assert sorted(headings, key=TypedText("push").sort_key) == [
        "Pushing", "Pushing more", "A push", "An older push",
    ]  # fmt: skip
    typed = TypedText("How to inst")
    assert list(typed.find_completions("Install it. installing inst Other")) == ["install", "installing"]
    assert typed.complete("install") == "How to install"
    for text in ("", " ", "(", "\x00"):
        with subtests.test(text=text):
            assert TypedText(text).words == ()


@given(st.text(), st.text(max_size=60))
def test_any_text_can_be_typed(text, heading):
    typed = TypedText(text)
    typed.sort_key(heading)
    assert typed.words == () or isinstance(typed.begins_words_of(heading), bool)
    assert all(typed.words)
