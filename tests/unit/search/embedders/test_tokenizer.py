"""Counting tokens, exactly and without the model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.embedders.bert import tokenizer
from search.embedders.bert.tokenizer import MARK_TOKENS, MAX_TOKENS, TOKENIZER, TokenCounter, token_ids
from search.embedders.bert.wheel import ModelFile
from search.retrieval.errors import EmbedderUnavailable

_CJK = "部署指南 を読む"


@pytest.fixture(autouse=True)
def _fresh_loaders():
    tokenizer._counting_tokenizer.cache_clear()
    yield
    tokenizer._counting_tokenizer.cache_clear()


@pytest.fixture
def exact() -> TokenCounter:
    try:
        TOKENIZER.verify()
    except EmbedderUnavailable as error:
        pytest.skip(str(error))
    return TokenCounter()


@pytest.fixture
def estimate(monkeypatch: pytest.MonkeyPatch) -> TokenCounter:
    def missing(wanted: object) -> None:
        raise EmbedderUnavailable("not installed")

    monkeypatch.setattr(ModelFile, "verify", missing)
    tokenizer._counting_tokenizer.cache_clear()
    return TokenCounter()


def test_embedding_cuts_at_the_input_limit_and_counting_does_not(exact: TokenCounter):
    text = "word " * 1000
    assert len(token_ids(text)) == MAX_TOKENS
    assert exact.count(text) == 1000
    assert token_ids("word " * 100_000) == token_ids("word " * 300)


def test_token_count_and_offsets_equal_the_tokenizer(exact: TokenCounter):
    assert exact.count("") == 0
    assert exact.count("two words") == len(token_ids("two words")) - MARK_TOKENS == 2
    assert len(token_ids("")) == MARK_TOKENS
    assert exact.is_exact
    text = "🙂 Wörld 部署"
    assert [text[start:end] for start, end in exact.offsets(text)] == ["🙂", "Wörld", "部", "署"]
    assert exact.offsets("a \ud800 b")[-1] == (4, 5)


def test_estimated_token_count_is_at_least_the_exact_one(
    exact: TokenCounter, estimate: TokenCounter, sentences: tuple[str, ...]
):
    assert not estimate.is_exact
    counted, estimated = (
        sum(counter.count(sentence) for sentence in sentences) for counter in (exact, estimate)
    )
    assert counted <= estimated <= 1.6 * counted
    assert [_CJK[start:end] for start, end in estimate.offsets(_CJK)] == list(_CJK.replace(" ", ""))


@given(st.text())
def test_offsets_of_either_counter_are_in_order_and_within_the_text(text: str):
    for offsets in (TokenCounter().offsets(text), tokenizer._estimated_offsets(text)):
        edges = [edge for offset in offsets for edge in offset]
        assert all(0 <= edge <= len(text) for edge in edges)
        assert [start for start, _ in offsets] == sorted(start for start, _ in offsets)
