"""Hits that are only related: nonsense, other subjects, pages of a list, and the floor."""

import pytest

from kebab.identity.reader import OPERATOR
from search.engine.candidates import _CONTRASTS
from search.engine.pages import fetch_next_page
from search.engine.search import search
from search.retrieval.types import Fusion, Group, Mode, SearchQuery
from tests.support.corpus import write_each
from tests.support.search import ask, embed, sync

NONSENSE = ("sdfghjklm", "qwrtzp xcvbnm", "jjkkllqq fdsafdsa lkjhg")
FERRY = "When does the last ferry to the island leave?"
TEXTS = (
    "The last ferry to the island leaves at nine in the evening, on Sundays at seven.",
    "Ferry tickets are sold at the pier until departure. Children under six travel free.",
    "In storms the crossing to the island is cancelled and passengers get their money back.",
    "Knead the dough for ten minutes and let it rise under a damp cloth.",
    "Whisk the egg whites until stiff before folding in the sugar.",
    "The violin section rehearses the second movement on Thursdays.",
    "A sonata usually has three movements, the first in a quick tempo.",
    "Chlorophyll absorbs red and blue light, so that leaves look green.",
    "Roots take up water and minerals through fine hairs.",
    "Interest on the mortgage is fixed for ten years.",
    "The central bank raised its key rate by a quarter of a point.",
    "Goalkeepers wear gloves and may touch the ball with their hands.",
)


def fill(workspace):
    write_each(workspace, TEXTS)


@pytest.fixture(autouse=True)
def _calibrated(monkeypatch):
    """Treat cosines of the tests' model, which measure shared words, as the default model's."""
    monkeypatch.setitem(_CONTRASTS, "hash", None)


def labels(result):
    return [hit.related for hit in result.hits]


@pytest.mark.parametrize("fusion", Fusion)
@pytest.mark.parametrize("text", NONSENSE)
def test_nonsense_query_has_only_related_hits(filled, text, fusion):
    for mode in Mode:
        result = ask(filled, text, mode, fusion=fusion)
        assert all(labels(result)) and len(result.hits) == (0 if mode is Mode.LEXICAL else 10)
        assert ask(filled, text, mode, fusion=fusion, floor=True).hits == ()


@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.VECTOR])
def test_related_hits_follow_and_are_counted_and_left_out_with_the_floor(filled, mode):
    result = ask(filled, FERRY, mode, k=12)
    n_relevant = labels(result).count(False)
    assert 0 < n_relevant < 12 and labels(result) == [False] * n_relevant + [True] * (12 - n_relevant)
    assert result.hits[0].doc_path == "000.md"
    assert [hit.rank for hit in result.hits] == list(range(1, 13))
    floored = ask(filled, FERRY, mode, k=12, floor=True)
    assert floored.hits == result.hits[:n_relevant]
    assert result.related_total == floored.related_total == 12 - n_relevant


def test_hits_above_the_floor_are_ordered_by_score(filled):
    for mode in (Mode.HYBRID, Mode.VECTOR):
        relevant = [hit.score for hit in ask(filled, FERRY, mode, k=12).hits if not hit.related]
        assert relevant == sorted(relevant, reverse=True)


def test_floor_uses_words_alone_without_vectors(filled, set_embedder):
    set_embedder("none")
    hybrid = ask(filled, FERRY)
    assert not any(labels(hybrid)) and hybrid.hits[0].doc_path == "000.md"
    # Of five rare words the collection has one.
    assert all(labels(ask(filled, "Which numismatic ferry catalogue lists byzantine follis varieties")))
    assert not any(labels(ask(filled, "ferry")))


def test_pages_carry_the_labels_of_the_list(filled):
    for mode in (Mode.HYBRID, Mode.VECTOR):
        whole = ask(filled, FERRY, mode, k=12)
        for stages in ({}, {"per_file_cap": 5}):
            query = SearchQuery(text=FERRY, mode=mode, k=5, **stages)
            pages = [search(filled, query, caller="tester")]
            while pages[-1].next_cursor is not None:
                cursor = pages[-1].next_cursor
                pages.append(fetch_next_page(filled, cursor, "tester", reader=OPERATOR))
            assert [label for page in pages for label in labels(page)] == labels(whole)
            assert {page.related_total for page in pages} == {whole.related_total}


def test_pages_with_the_floor_end_before_the_related_hits(filled):
    n_relevant = labels(ask(filled, FERRY, Mode.HYBRID, k=12)).count(False)
    query = SearchQuery(text=FERRY, k=1, floor=True)
    page = search(filled, query, caller="tester")
    count = 1
    while page.next_cursor is not None:
        page = fetch_next_page(filled, page.next_cursor, "tester", reader=OPERATOR)
        count += len(page.hits)
    assert count == n_relevant


def test_documents_are_related_if_all_of_their_passages_are(filled):
    passages, documents = (ask(filled, FERRY, Mode.HYBRID, k=12, group=group) for group in Group)
    assert {hit.doc_id for hit in documents.hits if hit.related} == {
        hit.doc_id for hit in passages.hits if hit.related
    }
    assert labels(documents) == labels(passages)


def test_related_hits_do_not_displace_near_copies(workspace):
    words = "harbour crane rope winch sail mast keel bow stern helm oar net buoy quay dock pier tide gull fog"
    write_each(workspace, [f"{words} {number}" for number in range(5)] + list(TEXTS[6:]))
    embed(workspace)
    sync(workspace)
    query = SearchQuery(text="harbour crane rope winch sail mast", k=4)
    first = search(workspace, query, caller="tester")
    second = fetch_next_page(workspace, first.next_cursor, "tester", reader=OPERATOR)
    assert labels(first) + labels(second) == [False] * 5 + [True] * 3


def test_explanation_and_why_not_name_the_floor(filled):
    target = ask(filled, FERRY, Mode.HYBRID, k=12).hits[-1]
    for floor, gate in ((False, "returned"), (True, "floor")):
        options = {"explain": True, "why_not": target.chunk_id, "floor": floor, "k": 12}
        explained = ask(filled, FERRY, Mode.HYBRID, **options).explain
        assert target.chunk_id in explained["below_floor"]
        assert explained["why_not"]["gate"] == gate
        assert any(row["chunk_id"] == target.chunk_id for row in explained["fused"]) is not floor


def test_floor_of_another_model_goes_by_contrast(filled, monkeypatch):
    monkeypatch.delitem(_CONTRASTS, "hash")
    assert all(labels(ask(filled, NONSENSE[0], Mode.HYBRID)))
    assert not all(labels(ask(filled, FERRY, Mode.HYBRID)))
