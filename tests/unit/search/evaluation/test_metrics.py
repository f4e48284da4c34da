"""Measures on five hand-computed judgements."""

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.evaluation.metrics import (
    BEIR_MEASURES,
    DEFAULT_MEASURES,
    MAX_MEASURES,
    OWN_MEASURES,
    check_measures,
    means,
    measure_each,
)
from search.retrieval.errors import InvalidMeasure

QRELS = {"q1": {"a": 2, "b": 1, "c": 0, "d": 1}, "q2": {"e": 1}}
#: q1 finds its grade 1 first and its grade 2 third; q2 finds nothing that is relevant.
RANKINGS = {"q1": ["b", "x", "a"], "q2": ["x", "y"]}
NDCG = (1 / log2(2) + 2 / log2(4)) / (2 / log2(2) + 1 / log2(3) + 1 / log2(4))


def mean_values(qrels, rankings, names=BEIR_MEASURES):
    return means(measure_each(names, qrels, rankings).values(), names)


def test_measures_equal_hand_computed_values():
    assert mean_values(QRELS, RANKINGS) == {
        "nDCG@10": pytest.approx(NDCG / 2), "R@10": pytest.approx(2 / 3 / 2),
        "R@100": pytest.approx(2 / 3 / 2), "RR@10": pytest.approx(1 / 2),
    }  # fmt: skip
    found = measure_each((*DEFAULT_MEASURES, "AP", "Judged@10"), QRELS, RANKINGS)
    assert found == {
        "q1": {
            "nDCG@10": pytest.approx(NDCG), "R@100": pytest.approx(2 / 3), "RR@10": 1.0,
            "P@5": pytest.approx(2 / 5), "P@10": pytest.approx(2 / 10), "Success@10": 1.0,
            "AP": pytest.approx((1 + 2 / 3) / 3), "Judged@10": pytest.approx(2 / 3),
        },
        "q2": dict.fromkeys((*DEFAULT_MEASURES, "AP", "Judged@10"), 0.0),
    }  # fmt: skip


def test_measures_handle_unanswered_queries_ties_and_depth():
    assert mean_values(QRELS, {"q2": ["e"]}) == {"nDCG@10": 0.5, "R@10": 0.5, "R@100": 0.5, "RR@10": 0.5}
    assert set(mean_values(QRELS, {}).values()) == {0.0}
    names = ["Judged@10", "nDCG@10"]
    assert mean_values(QRELS, {"q1": [], "q2": []}, names) == dict.fromkeys(names, 0.0)
    assert measure_each(["nDCG@10"], {"q2": {"e": 1}}, RANKINGS) == {"q2": {"nDCG@10": 0.0}}
    assert measure_each(["nDCG@10"], {}, RANKINGS) == {}

    # As trec_eval breaks ties by id, equal scores would put z before e.
    assert mean_values({"q": {"e": 1}}, {"q": ["e", "z"]})["RR@10"] == 1.0
    assert mean_values({"q": {"e": 1}}, {"q": ["z", "e"]})["RR@10"] == 0.5
    ranking = [f"x{n}" for n in range(10)]
    found = mean_values({"q": {"e": 1}}, {"q": [*ranking, "e"]})
    assert found == {"nDCG@10": 0.0, "R@10": 0.0, "R@100": 1.0, "RR@10": 0.0}
    beyond = [f"y{n}" for n in range(100)]
    assert mean_values({"q": {"e": 1}}, {"q": [*beyond, "e"]})["R@100"] == 0.0
    # TREC gives -2 to spam; it takes nothing from a ranking that has it.
    names = ["nDCG@10", "P@5", "Success@10"]
    assert measure_each(names, {"q": {"spam": -2, "e": 1}}, {"q": ["spam", "e"]}) == measure_each(
        names, {"q": {"spam": 0, "e": 1}}, {"q": ["spam", "e"]}
    )

    values = [{"empty_rate": 1.0, "NumRet": 3.0}, {"empty_rate": 0.0, "NumRet": 4.0}, {"refused_right": 1.0}]
    names = ["empty_rate", "NumRet", "refused_right", "citation_coverage"]
    assert means(values, names) == {
        "empty_rate": 0.5, "NumRet": 7.0, "refused_right": 1.0, "citation_coverage": None,
    }  # fmt: skip


def test_known_measures_are_named_and_computed(subtests):
    given_names = ["NDCG@10", "nDCG@10", "MRR@10", "P(rel=2)@5", "MAP", "citation_coverage"]
    assert check_measures(given_names) == ("nDCG@10", "RR@10", "P(rel=2)@5", "AP", "citation_coverage")
    assert check_measures(OWN_MEASURES) == OWN_MEASURES
    cases = [
        "Bpref", "Rprec", "SetF(beta=2.0)", "IPrec@0.5", "infAP", "Compat(p=0.8)", "RR", "nDCG", "NumRel",
        "R@5", "nDCG(judged_only=True)@10", "nDCG(gains={0:0,1:1,2:5})@10", "SetP", "SetR", "AP@100",
        "Judged@5",
    ]  # fmt: skip
    for name in cases:
        with subtests.test(name=name):
            (checked,) = check_measures([name])
            found = measure_each([checked], QRELS, RANKINGS)
            assert set(found["q1"]) <= {checked}
            assert means(found.values(), [checked])[checked] is not None


def test_unknown_measure_is_refused_with_the_remedy(subtests):
    cases = [
        "nDCG10", "nDCG@", "nDCG@0.5", "nDCG@100000", "P@-1", "P@0", "P", "P@99999999999999999999",
        "P(rel=99999)@5",
        "ERR@10",  # a Perl script would compute it
        "alpha_nDCG@10",  # needs a library that isn't there
        "P(rel='x')@5", "P(foo=1)@5", "nDCG(dcg='__import__')@10", "__import__('os').system('true')",
        "[].append@1", "nDCG@10; P@5", "((((((((", "", "x" * 61, "nDCG@10\x00",
    ]  # fmt: skip
    for name in cases:
        with subtests.test(name=name), pytest.raises(InvalidMeasure, match=r"nDCG@10|ir-measures"):
            check_measures([name])
    with pytest.raises(InvalidMeasure):
        check_measures([7])
    with pytest.raises(InvalidMeasure, match="20"):
        check_measures(f"P@{n}" for n in range(1, MAX_MEASURES + 2))


@given(st.text(max_size=70))
def test_any_measure_name_is_known_or_refused(name):
    try:
        checked = check_measures([name])
    except InvalidMeasure:
        return
    assert all(name in OWN_MEASURES or "@" in name or name.isidentifier() or "(" in name for name in checked)
