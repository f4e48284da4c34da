"""Scores of hits: none is above one before it, and a threshold means the same in each mode."""

from itertools import cycle, product
from random import Random

import pytest

from kebab.identity.reader import OPERATOR
from search.engine.candidates import _CONTRASTS
from search.engine.pages import fetch_next_page
from search.engine.search import search
from search.retrieval.types import Fusion, Group, Mode, SearchQuery, Sort
from tests.support.corpus import chunk, write
from tests.support.search import ask, embed, sync

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


_chosen = Random(7)
_VOCABULARY = (
    "ferry",
    "island",
    "harbour",
    "last",
    "violin",
    "dough",
    "mortgage",
    "keeper",
    "quick",
    "storm",
)
GENERATED = tuple(" ".join(_chosen.choices(_VOCABULARY, k=_chosen.randint(2, 9))) for _ in range(14))
HEADINGS = "# The ferry to the island"
SUPERSEDED = "Ferries (superseded)"


def fill(workspace):
    write(workspace, "headings.md", chunk(HEADINGS), chunk("Tickets are sold at the pier, or on board.", 1))
    write(workspace, "old.md", "The last ferry to the island leaves at six.", title=SUPERSEDED)
    for number, text in enumerate(GENERATED):
        write(workspace, f"generated{number}.md", text)
    for number, texts in enumerate(TEXTS):
        write(workspace, f"{number}.md", *(chunk(text, at) for at, text in enumerate(texts)))


QUERIES = (FERRY, "qwrtzp", "last", GENERATED[3])


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
    for text, fusion, group, floor in product(QUERIES, Fusion, Group, (False, True)):
        options = {"mode": mode, "fusion": fusion, "group": group, "floor": floor, **next(further)}
        with subtests.test(text=text, **options):
            hits = read_list(filled, text, **options)
            assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
            scores = [hit.score for hit in hits]
            assert scores == sorted(scores, reverse=True)
            assert all(0 <= hit.score <= hit.retrieval.score for hit in hits)


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


@pytest.mark.parametrize("exact", [False, True])
def test_detail_has_the_numbers_of_reciprocal_rank_fusion(filled, exact, subtests):
    """No matter what orders the list: headings alone, outdated pages, age and documents."""
    seen = set()
    for text, group, recency in product((FERRY, "ferry to the island", "last"), Group, (None, 0.5)):
        options = {"fusion": Fusion.RRF, "exact": exact, "group": group, "recency": recency}
        with subtests.test(text=text, **options):
            result = ask(filled, text, Mode.HYBRID, k=40, explain=True, **options)
            terms = {each["chunk_id"]: each["rrf_terms"] for each in result.explain["fused"]}
            for hit in result.hits:
                detail = hit.retrieval
                ranks = {"lexical": detail.lexical_rank, "vector": detail.vector_rank}
                if not exact:
                    of_ranks = {name: 1 / (60 + rank) for name, rank in ranks.items() if rank is not None}
                    assert terms[hit.chunk_id] == of_ranks
                    fused = sum(of_ranks.values()) / (2 / 61)
                    assert detail.fusion_score == pytest.approx(fused, abs=1e-9) == detail.score
                seen.add(hit.doc_path)
    assert seen >= {"headings.md", "old.md"}


def test_hit_behind_a_title_match_keeps_its_own_score(workspace):
    write(workspace, "leave.md", "Everyone has 28 days. Ask your manager.", title="Annual leave")
    write(workspace, "faq.md", "How much annual leave do I have? You have 28 days of annual leave.")
    write(workspace, "bread.md", "Knead the dough for ten minutes.")
    sync(workspace)
    embed(workspace)
    first, second, *others = ask(workspace, "annual leave", Mode.HYBRID).hits
    assert (first.doc_path, second.doc_path) == ("leave.md", "faq.md")
    assert first.score >= second.score >= 0.5
    assert all(other.score < 0.2 for other in others)


def test_threshold_keeps_the_same_hits_with_words_as_with_vectors_too(filled):
    text = "the last ferry to the island leaves"
    for mode in (Mode.LEXICAL, Mode.HYBRID):
        hits = ask(filled, text, mode, k=40).hits
        kept = {hit.doc_path for hit in hits if hit.score >= 0.5}
        assert "0.md" in kept
        assert kept.isdisjoint({"2.md", "3.md"})


def test_hit_without_a_vector_is_scored_by_its_words(workspace):
    write(workspace, "faq.md", "How much annual leave do I have?")
    sync(workspace)
    embed(workspace)
    write(workspace, "new.md", "The lighthouse keeper paints the northern buoy.")
    sync(workspace)
    lexical, hybrid = (
        {hit.doc_path: hit.score for hit in ask(workspace, "lighthouse keeper", mode).hits}["new.md"]
        for mode in (Mode.LEXICAL, Mode.HYBRID)
    )
    assert lexical == hybrid > 0.5
