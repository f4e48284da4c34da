"""Answerability: how many of a question's words the passages cover, and when that is too few."""

import math

import pytest

from search.analysis import STEMMED
from search.answers.answerability import MIN_COVERAGE, MIN_SUPPORT, Evidence, coverage, refusal, weigh_words
from search.answers.types import AnswerReason

HAVING = {"printer": 2, "floor": 50, "toner": 1, "replac": 10}


def frequencies(terms):
    return {term: HAVING[term] for term in terms if term in HAVING}


def word_weights(question):
    return weigh_words(question, STEMMED, frequencies, 5_000)


def test_the_words_that_few_chunks_have_weigh_most():
    weights = {
        word.positions[0][0]: word.weight for word in word_weights("Where is the printer on the floor?")
    }

    assert set(weights) == {"printer", "floor"}
    assert weights["printer"] == pytest.approx(math.log(1 + 4998.5 / 2.5))
    assert weights["floor"] == pytest.approx(math.log(1 + 4950.5 / 50.5))


def test_a_word_that_no_chunk_has_weighs_most_of_all():
    unknown, known = word_weights("helicopter printer")
    assert unknown.weight == pytest.approx(math.log(1 + 5000.5 / 0.5))
    assert unknown.weight > known.weight


def test_common_word_has_some_weight_in_a_small_collection():
    [common, unknown] = weigh_words(
        "velmoor says", STEMMED, lambda terms: {"velmoor": 3} if "velmoor" in terms else {}, 3
    )
    assert common.weight > unknown.weight / 2


def test_coverage_is_the_best_passages_share_of_the_weight():
    words = word_weights("replace the toner")
    by_word = {word.positions[0][0]: word.weight for word in words}
    best = by_word["toner"] / sum(by_word.values())

    assert coverage(words, [frozenset({"replac"}), frozenset({"toner", "x"})]) == pytest.approx(best)
    assert coverage(words, [frozenset({"toner", "replac"})]) == pytest.approx(1.0)
    assert coverage(words, []) == 0.0


def test_question_without_words_is_not_covered():
    for question in ("", "?!", "   "):
        assert coverage(word_weights(question), [frozenset({"x"})]) == 0.0


def test_forms_of_a_word_cover_it():
    terms = frozenset(term for token in STEMMED.analyse("We replaced toners") for term in token[2:])
    assert coverage(word_weights("replacing the toner"), [terms]) == pytest.approx(1.0)


def evidence(score=0.9, covered=0.9, cosine=None):
    return Evidence(best_score=score, coverage=covered, closeness=cosine)


EVIDENCE = [
    (evidence(score=0.04), AnswerReason.SCORE_GATE),
    (evidence(score=0.05), None),
    (evidence(covered=MIN_COVERAGE), None),
    (evidence(covered=MIN_COVERAGE - 0.01), AnswerReason.NOT_COVERED),
    (evidence(covered=MIN_SUPPORT - 0.5, cosine=0.501), None),
    (evidence(covered=MIN_SUPPORT - 0.5, cosine=0.499), AnswerReason.NOT_COVERED),
    (evidence(covered=1.0, cosine=-0.2), None),
    (evidence(covered=0.0, cosine=1.0), None),
    (evidence(covered=None), None),
]


def test_too_little_evidence_is_refused(subtests):
    for seen, reason in EVIDENCE:
        with subtests.test(seen=seen):
            assert refusal(seen, 0.05) is reason
