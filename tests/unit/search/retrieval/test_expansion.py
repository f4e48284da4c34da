"""Expansion adds passages with the contract's factors, and never displaces a hit."""

from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.retrieval.expansion import (
    IMPORT_FACTOR,
    NEIGHBOUR_FACTOR,
    NEIGHBOUR_STEPS,
    SIBLING_FACTOR,
    Expansion,
    ReachedChunk,
    expand,
)


def hit(chunk_id, score):
    return ReachedChunk(chunk_id=chunk_id, score=score)


def following(reached_by, factor, links):
    return Expansion(reached_by=reached_by, factor=factor, follow=lambda chunk_ids: links)


def neighbours(**links):
    return following("neighbour", NEIGHBOUR_FACTOR, links)


def siblings(**links):
    return following("sibling", SIBLING_FACTOR, links)


def imports(**links):
    return following("import", IMPORT_FACTOR, links)


def summary(expanded):
    return [(reached.chunk_id, pytest.approx(reached.score), reached.reached_by) for reached in expanded]


def test_expansion_lowers_scores_by_the_factor_of_its_kind():
    assert (NEIGHBOUR_FACTOR, SIBLING_FACTOR, IMPORT_FACTOR, NEIGHBOUR_STEPS) == (0.8, 0.7, 0.6, 1)
    ways = [neighbours(a={"n": 1}), siblings(a={"s": 1}), imports(a={"i": 1})]
    assert summary(expand([hit("a", 0.9)], ways)) == [
        ("a", 0.9, "hit"), ("n", 0.72, "neighbour"), ("s", 0.63, "sibling"), ("i", 0.54, "import"),
    ]  # fmt: skip
    assert summary(expand([hit("a", 1.0)], [neighbours(a={"b": 1, "c": 2, "d": 3})])) == [
        ("a", 1.0, "hit"), ("b", 0.8, "neighbour"), ("c", 0.64, "neighbour"), ("d", 0.512, "neighbour"),
    ]  # fmt: skip


def test_expansion_keeps_the_best_score_and_starts_from_hits_only():
    ways = [siblings(a={"x": 1}, b={"x": 1}), neighbours(b={"x": 1})]
    assert summary(expand([hit("a", 0.9), hit("b", 0.85)], ways))[2:] == [("x", 0.68, "neighbour")]
    assert summary(expand([hit("a", 1.0), hit("b", 0.85)], ways))[2:] == [("x", 0.7, "sibling")]
    ways = [neighbours(a={"b": 1}, b={"a": 1})]
    assert summary(expand([hit("a", 0.9), hit("b", 0.8)], ways)) == [("a", 0.9, "hit"), ("b", 0.8, "hit")]
    assert summary(expand([hit("a", 0.9), hit("b", 0.1)], ways)) == [("a", 0.9, "hit"), ("b", 0.72, "hit")]
    expanded = expand([hit("a", 0.9)], [neighbours(a={"b": 1}, b={"c": 1})])
    assert summary(expanded) == [("a", 0.9, "hit"), ("b", 0.72, "neighbour")]


def test_expansion_is_ordered_limited_and_follows_all_hits_at_once():
    ways = [
        following("sibling", 1.0, {"a": {"c": 1, "b": 1}}),
        following("neighbour", 1.0, {"a": {"z": 1}}),
    ]
    assert [reached.chunk_id for reached in expand([hit("a", 0.5)], ways)] == ["a", "z", "b", "c"]
    links = {"a": {f"n{steps}": steps for steps in range(1, 9)}}
    expanded = expand([hit("a", 0.9), hit("b", 0.01)], [neighbours(**links)], max_added=3)
    assert [reached.chunk_id for reached in expanded] == ["a", "n1", "n2", "n3", "b"]
    assert summary(expand([hit("b", 0.2), hit("a", 0.4)], [])) == [("a", 0.4, "hit"), ("b", 0.2, "hit")]
    assert expand([], [neighbours(a={"b": 1})]) == []
    follow = Mock(return_value={})
    expand([hit("a", 0.9), hit("b", 0.2)], [Expansion(reached_by="sibling", factor=0.7, follow=follow)])
    assert [list(call.args[0]) for call in follow.call_args_list] == [["a", "b"]]


NAMES = st.sampled_from("abcdef")
LINKS = st.dictionaries(NAMES, st.dictionaries(NAMES, st.integers(1, 3), max_size=4), max_size=4)


@given(st.dictionaries(NAMES, st.floats(0, 1), max_size=5), LINKS, LINKS, st.randoms())
def test_expansion_keeps_all_hits_and_ignores_their_order(scores, near, beside, random):
    hits = [hit(chunk_id, score) for chunk_id, score in scores.items()]
    ways = [neighbours(**near), siblings(**beside)]
    expanded = expand(hits, ways)
    found = {reached.chunk_id: reached for reached in expanded}
    assert len(found) == len(expanded)
    for chunk_id, score in scores.items():
        assert found[chunk_id].score >= score and found[chunk_id].reached_by == "hit"
    random.shuffle(hits)
    assert expand(hits, ways[::-1]) == expanded
