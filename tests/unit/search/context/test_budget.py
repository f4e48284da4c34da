"""Sizes of texts in tokens and characters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.context import BudgetUnit
from search.context.budget import text_counter
from search.embedders.bert import tokenizer
from search.embedders.bert.tokenizer import TokenCounter

TEXTS = st.one_of(
    st.text(max_size=200),
    st.lists(
        st.sampled_from(
            [
                "word", "parseHTTPHeader", "x_y", "'", "...", " ", "\n", "\r\n", "\t", "\x1c", "\x85",
                "\u2028", "\u3000", "部署", "é", "e\u0301", "\u0301", "don't", "1234567", "#",
            ]
        ),
        max_size=60,
    ).map("".join),
)  # fmt: skip


@given(TEXTS)
def test_tokens_are_counted_for_the_text_as_a_whole(text):
    count, counted_by = text_counter(BudgetUnit.TOKENS)
    assert counted_by == "model"
    assert count(text) == TokenCounter().count(text)


@given(TEXTS)
def test_tokens_are_estimated_deterministically_without_the_model(text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokenizer, "_counting_tokenizer", lambda: None)
        count, counted_by = text_counter(BudgetUnit.TOKENS)
        assert counted_by == "estimate"
        assert count(text) == count(text) == TokenCounter().count(text)


@given(TEXTS)
def test_characters_are_code_points(text):
    count, counted_by = text_counter(BudgetUnit.CHARS)
    assert (count(text), counted_by) == (len(text), "code points")
