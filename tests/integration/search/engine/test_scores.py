"""Scores of hits along a list: none is above one before it, whatever orders the list."""

from itertools import cycle, product

import pytest

from kebab.identity.reader import OPERATOR
from search.engine.candidates import _CONTRASTS
from search.engine.pages import fetch_next_page
from search.engine.search import search
from search.retrieval.types import Fusion, Group, Mode, SearchQuery, Sort
from tests.support.corpus import chunk, write
from tests.support.search import ask

FERRY = "When does the last ferry to the island leave?"
TEXTS = (
    ("The last ferry to the island leaves at nine.", "The ferry leaves.", "Storms: no ferry to the island."),
    ("Ferry tickets are sold at the pier.", "Knead the dough for ten minutes.", "When does it leave?"),
    ("The violin section rehearses on Thursdays.", "A sonata has three movements, the last is quick."),
    (
        "Interest on the mortgage is fixed.",
        "The last key rate of the island's bank.",
        "Goalkeepers wear gloves.",
    ),
)


def fill(workspace):
    for number, texts in enumerate(TEXTS):
        write(workspace, f"{number}.md", *(chunk(text, at) for at, text in enumerate(texts)))


@pytest.fixture(autouse=True)
def _calibrated(monkeypatch):
    monkeypatch.setitem(_CONTRASTS, "hash", None)


def read_list(workspace, text, **options):
    page = search(workspace, SearchQuery(text=text, k=4, **options), caller="tester")
    hits = list(page.hits)
    while page.next_cursor is not None:
        page = fetch_next_page(workspace, page.next_cursor, "tester", reader=OPERATOR)
        hits += page.hits
    return hits


@pytest.mark.parametrize("mode", Mode)
def test_scores_never_rise_along_a_list_by_relevance(filled, mode, subtests):
    further = cycle([{}, {"per_file_cap": 1, "fills_up": True}, {"recency": 0.5}])
    for text, fusion, group, floor in product((FERRY, "qwrtzp", "last"), Fusion, Group, (False, True)):
        options = {"mode": mode, "fusion": fusion, "group": group, "floor": floor, **next(further)}
        with subtests.test(text=text, **options):
            hits = read_list(filled, text, **options)
            assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
            scores = [hit.score for hit in hits]
            assert scores == sorted(scores, reverse=True)
            assert all(hit.score <= hit.retrieval.score for hit in hits)


def test_retrieval_has_the_score_before_it_was_lowered(filled):
    lists = [
        ask(filled, text, mode, k=12, fusion=fusion).hits
        for text, mode, fusion in product((FERRY, "the last quick movement of harps"), Mode, Fusion)
    ]
    raw = [[hit.retrieval.score for hit in hits] for hits in lists]
    assert any(scores != sorted(scores, reverse=True) for scores in raw)
    for hits, scores in zip(lists, raw, strict=True):
        assert [hit.score for hit in hits] == [min(scores[: at + 1]) for at in range(len(scores))]


def test_lists_by_date_or_title_keep_their_scores(filled):
    for sort in (Sort.DATE, Sort.TITLE):
        hits = read_list(filled, FERRY, mode=Mode.HYBRID, sort=sort)
        assert len(hits) > 4
        assert [hit.score for hit in hits] == [hit.retrieval.score for hit in hits]
