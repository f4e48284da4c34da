"""Each stage of a query takes time that grows with the query's length at most."""

import sys
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.retrieval.text.sanitize import cut_text
from search.retrieval.text.unicode_scripts import RUN, fold
from search.retrieval.types import MAX_QUERY_CHARS, SearchQuery
from tests.unit.search.query_stages import KINDS, STAGES, clear_caches

# The most that no stage cuts; from there on it takes the same time.
_CHARS = 300
# Of what a stage does once, whatever the text.
_FIXED_CALLS = 2_000
# Doubled, with what is rounded up.
_GROWTH = 2.25
_LONG_S = 1.0


def count_calls(stage, text):
    """Return the number of Python and C functions that a stage calls for a text."""
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    clear_caches()
    sys.setprofile(count)
    try:
        stage(text)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("kind", KINDS)
def test_calls_of_each_stage_grow_with_the_length_at_most(kind, subtests):
    short, long = KINDS[kind](_CHARS), KINDS[kind](2 * _CHARS)
    for name, stage in STAGES.items():
        with subtests.test(stage=name):
            assert count_calls(stage, long) <= _GROWTH * count_calls(stage, short) + _FIXED_CALLS


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_query_stage_handles_the_longest_text_within_a_second(kind, subtests):
    text = SearchQuery(text=KINDS[kind](MAX_QUERY_CHARS)).text
    for name, stage in STAGES.items():
        with subtests.test(stage=name):
            clear_caches()
            began = time.process_time()
            stage(text)
            assert time.process_time() - began < _LONG_S


@pytest.mark.slow
@given(
    st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=4),
    st.integers(1, MAX_QUERY_CHARS // 4),
    st.integers(1, 4),
)
def test_every_query_stage_handles_mixed_text_within_a_second(kinds, size, repetitions):
    text = SearchQuery(text="".join(KINDS[kind](size) for kind in kinds) * repetitions).text
    for name, stage in STAGES.items():
        began = time.process_time()
        stage(text)
        assert time.process_time() - began < _LONG_S, name


def test_character_unfolds_to_one_term_of_four_characters_at_most():
    codes = [*range(0x80, 0xD800), *range(0xE000, 0x20000), 0x2F800, 0xE0100]
    forms = [fold(chr(code)) for code in codes if RUN.fullmatch(chr(code))]
    assert len(forms) > 50_000
    assert max(map(len, forms)) == 4
    # Two angle brackets are taken for pictures, and folded to the brackets that are none.
    assert [form for form in forms if RUN.findall(form) != [form]] == ["\u3008", "\u3009"]


def test_long_words_do_not_fill_the_cache(monkeypatch):
    monkeypatch.setattr("search.retrieval.text.unicode_scripts._MAX_LONG_CHARS", 100)
    clear_caches()
    assert [fold(word * 50) for word in ("Ä", "b", "Ç")] == ["a" * 50, "b" * 50, "c" * 50]
    assert fold("Ä") == "a"
    assert fold.cache_info().currsize <= 2


@given(st.text(st.sampled_from("a\ufdfa\ufb03é部")), st.integers(1, 60))
def test_text_is_cut_by_its_length_in_compatibility_form(text, most):
    cut = cut_text(text, most)
    assert text.startswith(cut)
    assert len(unicodedata.normalize("NFKD", cut)) <= most
    longer = text[: len(cut) + 1]
    assert longer == cut or len(unicodedata.normalize("NFKD", longer)) > most


def test_query_and_channels_are_cut(subtests):
    page = "word " * 800
    kept = SearchQuery(text=page)
    assert (kept.text, kept.is_cut) == (page, False)
    for kind, make in KINDS.items():
        with subtests.test(kind=kind):
            query = SearchQuery(text=make(2 * MAX_QUERY_CHARS))
            assert len(unicodedata.normalize("NFKD", query.text)) <= MAX_QUERY_CHARS
