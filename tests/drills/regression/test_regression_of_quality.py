"""No change makes the rankings of the judged set worse, and each floor would notice one that does."""

import pytest

from tests.drills.regression import planted
from tests.drills.regression.budgets import FLOORS
from tests.drills.regression.guards import Regression, check_quality
from tests.drills.regression.judged_set import (
    WAYS,
    quality,
    rankings,
    read_documents,
    read_topics,
)

pytestmark = pytest.mark.django_db

GROUPS = ("words", "meaning", "names", "foreign")


def figures(way, ranked):
    """nDCG@10 of one way, and of the groups of its topics where these have floors."""
    grouped = {f"{way}, {group}": quality(ranked, group) for group in GROUPS}
    return {
        way: quality(ranked),
        **{name: figure for name, figure in grouped.items() if name in FLOORS},
    }


@pytest.mark.parametrize("way", ["lexical", "vector", "hybrid"])
def test_rankings_are_no_worse_than_they_were(judged, noted, way):
    check_quality(noted("nDCG@10", figures(way, rankings(judged, way))))


@pytest.mark.slow
def test_rankings_of_each_fusion_are_no_worse_and_alike_each_time(judged, noted):
    ranked = {way: rankings(judged, way) for way in WAYS}
    measured = {way: noted("nDCG@10", figures(way, ranked[way])) for way in WAYS}
    for each in measured.values():
        check_quality(each)
    assert FLOORS.keys() == {name for each in measured.values() for name in each}
    assert rankings(judged, "hybrid") == ranked["hybrid"]


def test_judged_set_and_its_floors_fit_each_other():
    paths = read_documents().keys()
    assert all(topic.qrels and topic.qrels.keys() <= paths for topic in read_topics())
    assert {topic.group for topic in read_topics()} == set(GROUPS)
    # There is room to get worse and to get better.
    assert all(0.5 < FLOORS[way] < 0.9 for way in WAYS)


PLANTED = [
    (planted.weights_swapped, "lexical", r"^lexical: "),
    (planted.vectors_not_fused, "hybrid by rrf", r"^hybrid by rrf: "),
    (planted.vectors_not_fused, "hybrid by convex", r"^hybrid by convex: "),
    (planted.vectors_not_fused, "hybrid", r"hybrid, meaning: "),
    (planted.a_quarter_of_each_vector, "vector", r"^vector: "),
    (planted.no_names, "hybrid", r"hybrid, names: "),
    (planted.every_language_known, "hybrid by rrf", r"hybrid by rrf, foreign: "),
]


@pytest.mark.slow
def test_planted_regressions_fall_below_a_floor(judged, subtests):
    for plant, way, found in PLANTED:
        with subtests.test(plant=plant, way=way), pytest.MonkeyPatch.context() as patch:
            plant(patch)
            with pytest.raises(Regression, match=found):
                check_quality(figures(way, rankings(judged, way)))
