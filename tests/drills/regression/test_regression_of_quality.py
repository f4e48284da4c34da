"""Ranking quality on the judged set stays above its floors, and each floor detects a planted regression."""

import pytest

from tests.drills.regression import regressions
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
    """Return nDCG@10 of one way, and of the groups of its topics that have floors."""
    grouped = {f"{way}, {group}": quality(ranked, group) for group in GROUPS}
    return {
        way: quality(ranked),
        **{name: figure for name, figure in grouped.items() if name in FLOORS},
    }


@pytest.mark.parametrize("way", ["lexical", "vector", "hybrid"])
def test_rankings_stay_above_their_floors(judged_workspace, record_figures, way):
    check_quality(record_figures("nDCG@10", figures(way, rankings(judged_workspace, way))))


@pytest.mark.slow
def test_rankings_of_each_fusion_stay_above_their_floors_and_are_reproducible(
    judged_workspace, record_figures
):
    ranked = {way: rankings(judged_workspace, way) for way in WAYS}
    measured = {way: record_figures("nDCG@10", figures(way, ranked[way])) for way in WAYS}
    for each in measured.values():
        check_quality(each)
    assert FLOORS.keys() == {name for each in measured.values() for name in each}
    assert rankings(judged_workspace, "hybrid") == ranked["hybrid"]


def test_judged_set_matches_its_floors():
    paths = read_documents().keys()
    assert all(topic.qrels and topic.qrels.keys() <= paths for topic in read_topics())
    assert {topic.group for topic in read_topics()} == set(GROUPS)
    # Quality can both fall and rise.
    assert all(0.5 < FLOORS[way] < 0.9 for way in WAYS)


PLANTED_REGRESSIONS = [
    (regressions.swap_weights, "lexical", r"^lexical: "),
    (regressions.omit_vectors, "hybrid by rrf", r"^hybrid by rrf: "),
    (regressions.omit_vectors, "hybrid by convex", r"^hybrid by convex: "),
    (regressions.omit_vectors, "hybrid", r"hybrid, meaning: "),
    (regressions.truncate_vectors, "vector", r"^vector: "),
    (regressions.disable_names, "hybrid", r"hybrid, names: "),
    (regressions.ignore_language, "hybrid by rrf", r"hybrid by rrf, foreign: "),
]


@pytest.mark.slow
def test_planted_regressions_fall_below_a_floor(judged_workspace, subtests):
    for plant, way, found in PLANTED_REGRESSIONS:
        with subtests.test(plant=plant, way=way), pytest.MonkeyPatch.context() as patch:
            plant(patch)
            with pytest.raises(Regression, match=found):
                check_quality(figures(way, rankings(judged_workspace, way)))
