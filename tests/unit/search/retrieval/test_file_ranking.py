"""Files ranked by all their passages, on hand-computed lists."""

from hypothesis import given
from hypothesis import strategies as st

from search.retrieval.fusion.file_ranking import (
    DECAY,
    DEPTH_FACTOR,
    FoundList,
    FoundPassage,
    rank_files,
    spread,
)


def found_list(*names, weight=1.0):
    """Return a list of passages, each named by its file's letter and a number."""
    return FoundList(passages=[FoundPassage(chunk_id=name, doc_id=name[0]) for name in names], weight=weight)


def order(*lists, **options):
    return [file.doc_id for file in rank_files(lists, **options)]


def test_files_rank_by_all_their_passages_and_weights_and_tie_by_id():
    assert order(found_list("a1", "b1", "b2", "b3")) == ["b", "a"]
    files = rank_files([found_list("a1", "b1"), found_list("a2")])
    assert [(file.doc_id, file.score) for file in files] == [("a", 1.0), ("b", 61 / 62)]
    many = found_list("a1", "a2", "a3", "a4", "a5", "a6")
    assert DECAY == 0.5
    assert order(many, found_list("b1"), found_list("b2")) == ["b", "a"]
    [file] = rank_files([found_list("a1", "a2"), found_list("a2")])
    assert file.chunk_ids == ("a2", "a1")
    assert rank_files([found_list(), found_list()]) == []
    assert order(found_list("a1"), found_list("b1", weight=2.0)) == ["b", "a"]
    assert order(found_list("a1", "b1"), weight_of={"a": 0.5, "b": 1.0}.__getitem__) == ["b", "a"]
    assert order(found_list("b1"), found_list("a1")) == ["a", "b"]  # a tie


def test_passages_are_spread_over_files():
    files = rank_files([found_list("a1", "a2", "a3", "b1", "c1")])
    first = [each.chunk_id for each in spread(files, per_file=5)]
    assert first[0] == "a1"
    assert first.index("c1") < first.index("a3")
    found = spread(rank_files([found_list("a1", "a2", "a3")]), per_file=2)
    assert [(each.chunk_id, each.score) for each in found] == [("a1", 1.0), ("a2", DEPTH_FACTOR)]


passages = st.lists(st.sampled_from([f"{file}{n}" for file in "abcd" for n in range(4)]), unique=True)


@given(lists=st.lists(passages, max_size=4))
def test_scores_lie_between_0_and_1_and_the_order_of_lists_does_not_matter(lists):
    files = rank_files([found_list(*names) for names in lists])
    assert all(0 < file.score <= 1 for file in files)
    assert files == rank_files([found_list(*names) for names in reversed(lists)])
