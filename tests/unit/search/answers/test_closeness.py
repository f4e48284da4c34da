"""Closeness of a question and its passages by their vectors."""

from types import SimpleNamespace

import pytest

from search.answers.passages import measure_closeness
from search.embedders.bert.model import ENGLISH_MODEL, MULTILINGUAL_MODEL
from search.retrieval.types import VectorWindow


def hit(name, cosine, *, model=MULTILINGUAL_MODEL, other=False):
    score = None if cosine is None else (1 + cosine) / 2
    retrieval = SimpleNamespace(vector_score=score)
    return SimpleNamespace(chunk_id=name, embedding_model=model, other_language=other, retrieval=retrieval)


def window(cosine):
    score = None if cosine is None else (1 + cosine) / 2
    return VectorWindow(asked=100, found=40, middling_score=score)


def test_cosine_of_the_english_model_counts():
    found = [hit("a", 0.6, model=ENGLISH_MODEL), hit("b", None, model=ENGLISH_MODEL)]
    assert measure_closeness(found, window(0.5)) == {"a": pytest.approx(0.6)}
    assert measure_closeness([hit("a", 0.9, model="another")], window(0.5)) == {}
    assert measure_closeness([], None) == {}


@pytest.mark.parametrize(
    ("other", "following", "closeness"),
    [
        (False, 0.84, 1.75 * 0.5), (False, 0.76, 1.75 * 0.5),
        (True, 0.87, 3.5 * 0.5), (True, 0.84, 3.5 * 2.8 * 0.25),
    ],
)  # fmt: skip
def test_contrast_of_the_multilingual_model_counts(other, following, closeness):
    found = [hit("a", 0.88, other=other), hit("b", following, other=other)]
    assert measure_closeness(found, window(0.76))["a"] == pytest.approx(closeness)


def test_usual_cosine_counts_where_candidates_are_too_few():
    assert measure_closeness([hit("a", 0.88)], window(None)) == measure_closeness(
        [hit("a", 0.88)], window(0.76)
    )
