"""What a reranker does to a context pack, and where a pack ends with it or without."""

import pytest

from tests.integration.search.context.filling import index
from tests.support.corpus import write


class LineReranker:
    """Reads a passage's score from its own text: the protocol's fake."""

    name = "by line"
    gives_logits = False

    def rerank(self, query, passages):
        assert query == "pepper salt"
        return [float(passage.split()[-1]) for passage in passages]


@pytest.fixture
def spices(workspace):
    for n, score in enumerate([0.3, 0.44, 0.46, 0.8, 0.9]):
        write(workspace, f"{n}.md", f"pepper {score}")
    index(workspace)


@pytest.fixture
def reranker(monkeypatch):
    fake = LineReranker()
    monkeypatch.setattr("search.engine.configured_reranker", lambda: fake)
    monkeypatch.setattr("search.api.context_pack.configured_reranker", lambda: fake)


ALONE = {"neighbours": 0, "siblings": False}


def test_a_configured_reranker_orders_the_hits_and_the_cutoff_ends_them(spices, reranker, ask_for):
    pack = ask_for("pepper", technical_terms=["salt"], mode="lexical", expand=ALONE)
    assert pack["rerank"] == {"status": "ok", "reason": None}
    assert [file["score"] for file in pack["files"]] == [0.9, 0.8, 0.46]


def test_a_pack_may_be_asked_for_without_rerank_or_cutoff(spices, reranker, ask_for):
    plain = ask_for("pepper", technical_terms=["salt"], mode="lexical", expand=ALONE, rerank=False)
    assert plain["rerank"] is None and len(plain["files"]) == 5
    whole = ask_for("pepper", technical_terms=["salt"], mode="lexical", expand=ALONE, cutoff=False)
    assert [file["score"] for file in whole["files"]] == [0.9, 0.8, 0.46, 0.44, 0.3]


def test_a_rerank_that_is_asked_for_and_not_there_falls_back(spices, ask_for):
    assert ask_for("pepper")["rerank"] is None
    pack = ask_for("pepper", rerank=True)
    assert pack["rerank"]["status"] == "fallback" and "KEBAB_RERANKER" in pack["rerank"]["reason"]
    assert len(pack["files"]) == 5


def test_without_a_reranker_a_pack_begins_with_eight_hits(workspace, ask_for):
    for n in range(12):
        write(workspace, f"{n}.md", f"pepper {n}")
    index(workspace)
    assert len(ask_for("pepper")["files"]) == 8
    assert len(ask_for("pepper", cutoff=False)["files"]) == 12
