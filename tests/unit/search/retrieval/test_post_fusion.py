"""Cap, rerank and cutoff in sequence: the numbers of the contract."""

from itertools import count

from search.retrieval.errors import RerankerUnavailable
from search.retrieval.fusion.post_fusion import Stages, apply_stages
from search.retrieval.fusion.ranking import RankedEntry
from search.retrieval.types import Mode, RetrievalDetail, SearchQuery


class TableReranker:
    """Scores a passage, which is its number, by a table; fails without one."""

    name = "table"
    gives_logits = False

    def __init__(self, scores):
        self.scores = scores
        self.asked = []

    def rerank(self, query, passages):
        if self.scores is None:
            raise RerankerUnavailable("the reranker is dead")
        self.asked.append(list(passages))
        return [self.scores[int(passage)] for passage in passages]


def entries(n):
    return [
        RankedEntry(
            rank=number + 1, chunk_id=str(number), score=1 / (number + 1),
            retrieval=RetrievalDetail(method=Mode.HYBRID, fusion_score=1 / (number + 1)),
        )
        for number in range(n)
    ]  # fmt: skip


def run(n, *, documents=None, reranker=None, gone=(), **stages):
    documents = documents or [str(number) for number in range(n)]
    return apply_stages(
        entries(n), Stages(**stages), query="q",
        document_of={str(number): document for number, document in enumerate(documents)},
        passages_of=lambda ids: {each: each for each in ids if each not in gone}, reranker=reranker,
        clock=count().__next__,
    )  # fmt: skip


def ids(after):
    return [int(entry.chunk_id) for entry in after.entries]


def test_reranker_lifts_related_hits_that_it_finds_relevant():
    found = entries(4)
    for entry in found[:3]:
        entry.retrieval.related = True
    after = apply_stages(
        found, Stages(rerank=True), query="q", document_of={},
        passages_of=lambda ids: {each: each for each in ids}, reranker=TableReranker([0.1, 0.9, 0.2, 0.5]),
    )  # fmt: skip
    labels = [entry.retrieval.related for entry in after.entries]
    assert (ids(after), labels) == ([1, 3, 2, 0], [False, False, True, True])
    assert [entry.rank for entry in after.entries] == [1, 2, 3, 4]


def test_post_fusion_without_stages_only_drops_missing_candidates():
    after = run(3)
    assert after.entries == tuple(entries(3))
    assert (after.rerank, after.over_cap, after.below_cutoff, after.timings_ms) == (None, (), (), {})
    reranker = TableReranker([0.1, 0.2, 0.3])
    after = run(3, rerank=True, reranker=reranker, gone=("1",))
    assert (ids(after), reranker.asked) == ([2, 0], [["0", "2"]])


def test_cap_leaves_two_of_a_file():
    after = run(5, documents="aaabc", per_file_cap=2)
    assert ids(after) == [0, 1, 3, 4]
    assert [entry.rank for entry in after.entries] == [1, 2, 3, 4]
    assert after.over_cap == ("2",)
    assert after.timings_ms == {"cap": 1_000}
    reranker = TableReranker([0.1, 0.2, 0.9, 0.3, 0.4])
    after = run(5, documents="aaabc", per_file_cap=2, rerank=True, reranker=reranker)
    assert reranker.asked == [["0", "1", "3", "4"]]
    assert ids(after) == [4, 3, 1, 0]
    assert after.rerank.status == "ok"


def test_hits_above_the_cap_follow_the_others_before_related_ones():
    found = entries(6)
    found[4].retrieval.related = True
    after = apply_stages(
        found, Stages(per_file_cap=1, fills_up=True), query="q",
        document_of=dict(zip("012345", "aaabcb", strict=True)), passages_of=dict, reranker=None,
    )  # fmt: skip
    assert ids(after) == [0, 3, 1, 2, 5, 4]


def test_cutoff_looks_at_rerank_scores_or_takes_eight(subtests):
    for scores, kept in (([0.9, 0.8, 0.46, 0.44, 0.3], [0.9, 0.8, 0.46]), ([0.9] * 12, [0.9] * 8)):
        with subtests.test(scores=scores):
            after = run(len(scores), rerank=True, cutoff=True, reranker=TableReranker(scores[::-1]))
            assert [entry.score for entry in after.entries] == kept
            assert len(after.below_cutoff) == len(scores) - len(kept)
            assert list(after.timings_ms) == ["rerank", "cutoff"]
    for reranker in (TableReranker(None), None):
        with subtests.test(reranker=reranker):
            after = run(12, rerank=True, cutoff=True, reranker=reranker)
            assert after.rerank.status == "fallback"
            assert ids(after) == list(range(8))
            assert after.below_cutoff == ("8", "9", "10", "11")
    after = run(12, cutoff=True, reranker=TableReranker([0.0] * 12))
    assert (after.rerank, ids(after)) == (None, list(range(8)))


def test_stages_of_a_query_and_their_windows(subtests):
    cases = [
        ({}, Stages()), ({"per_file_cap": 3}, Stages(per_file_cap=3)),
        ({"per_file_cap": 0}, Stages(per_file_cap=0)),
        ({"rerank": True}, Stages(per_file_cap=5, rerank=True)),
        ({"cutoff": True}, Stages(per_file_cap=5, cutoff=True)),
        ({"rerank": True, "per_file_cap": 0}, Stages(per_file_cap=0, rerank=True)),
        ({"rerank": True, "per_file_cap": 2}, Stages(per_file_cap=2, rerank=True)),
    ]  # fmt: skip
    for asked, stages in cases:
        with subtests.test(asked=asked):
            assert Stages.of(SearchQuery(text="q", **asked), 5) == stages
    cases = [
        (Stages(), {10: 10, 100: 100}), (Stages(per_file_cap=-1), {10: 10}),
        (Stages(per_file_cap=2), {10: 60, 100: 100}), (Stages(cutoff=True), {10: 60}),
        (Stages(rerank=True), {10: 60, 100: 60, 1_000: 60}),
    ]  # fmt: skip
    for stages, windows in cases:
        with subtests.test(stages=stages):
            assert {k: stages.window(k) for k in windows} == windows
