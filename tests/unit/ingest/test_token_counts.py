from hypothesis import given
from hypothesis import strategies as st

from ingest.chunking.tokens import CACHE_WORDS, LEARNED_TEXTS, TokenCounts

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=200)


@given(texts=st.lists(TEXT, max_size=8))
def test_counts_equal_those_of_the_tokenizer(exact_counter, texts):
    counts = TokenCounts(exact_counter)
    assert counts.count_each(texts) == [exact_counter.count(text) for text in texts]
    assert [counts.count(text) for text in texts] == [exact_counter.count(text) for text in texts]


def test_marks_and_removed_characters_count_as_the_tokenizer_counts_them(exact_counter):
    counts = TokenCounts(exact_counter)
    for text in (
        "a\x0bb",
        "a\x1fb c",
        "[CLS] x[SEP]y",
        "e\u0301 \u0301",
        "a\u2028b\u200bc",
        "한국어 각 部署",
        "x" * 300,
        "[MASK]部[SEP]。[ABC]" + "y" * 99 + ".[\x01SEP]",
        "中\u0301文、\u0301，é.è",
    ):
        assert counts.count_each([text]) == [exact_counter.count(text)], text


def test_cache_is_bounded(exact_counter):
    counts = TokenCounts(exact_counter)
    counts.count_each([f"w{number}" for number in range(CACHE_WORDS + 5_000)])
    assert len(counts._seen) <= CACHE_WORDS + LEARNED_TEXTS
