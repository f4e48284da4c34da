"""No change makes the rankings of the judged set worse, and each floor would notice one that does."""

import pytest

from tests.integration.search.regression import planted
from tests.integration.search.regression.budgets import FLOORS
from tests.integration.search.regression.guards import Regression, check_quality
from tests.integration.search.regression.judged_set import (
    WAYS,
    quality,
    rankings,
    read_documents,
    read_topics,
)

pytestmark = pytest.mark.django_db

GROUPS = ("words", "meaning", "names", "foreign")


@pytest.fixture(scope="module")
def ranked(judged):
    """The rankings of all ways, asked for once."""
    return {way: rankings(judged, way) for way in WAYS}


def figures(way, ranked):
    """nDCG@10 of one way, and of the groups of its topics where these have floors."""
    grouped = {f"{way}, {group}": quality(ranked, group) for group in GROUPS}
    return {
        way: quality(ranked),
        **{name: figure for name, figure in grouped.items() if name in FLOORS},
    }


@pytest.mark.parametrize("way", list(WAYS))
def test_rankings_are_no_worse_than_they_were(ranked, noted, way):
    check_quality(noted("nDCG@10", figures(way, ranked[way])))


def test_the_same_topics_are_ranked_alike_each_time(judged, ranked):
    assert rankings(judged, "hybrid") == ranked["hybrid"]


def test_every_floor_is_of_something_measured(ranked):
    measured = {name for way in WAYS for name in figures(way, ranked[way])}
    assert FLOORS.keys() == measured


def test_there_is_room_to_get_worse_and_to_get_better():
    assert all(0.5 < FLOORS[way] < 0.9 for way in WAYS)


def test_each_topic_is_answered_by_documents_of_the_set():
    paths = read_documents().keys()
    assert all(topic.qrels and topic.qrels.keys() <= paths for topic in read_topics())
    assert {topic.group for topic in read_topics()} == set(GROUPS)


@pytest.mark.parametrize(
    ("plant", "way", "found"),
    [
        (planted.weights_swapped, "lexical", r"^lexical: "),
        (planted.vectors_not_fused, "hybrid by rrf", r"^hybrid by rrf: "),
        (planted.vectors_not_fused, "hybrid by convex", r"^hybrid by convex: "),
        (planted.vectors_not_fused, "hybrid", r"hybrid, meaning: "),
        (planted.a_quarter_of_each_vector, "vector", r"^vector: "),
        (planted.no_names, "hybrid", r"hybrid, names: "),
        (planted.every_language_known, "hybrid by rrf", r"hybrid by rrf, foreign: "),
    ],
)
def test_a_planted_regression_falls_below_a_floor(judged, monkeypatch, plant, way, found):
    plant(monkeypatch)

    with pytest.raises(Regression, match=found):
        check_quality(figures(way, rankings(judged, way)))
