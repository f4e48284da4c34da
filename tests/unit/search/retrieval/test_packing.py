"""Passages packed by file: adjacent ones merged, three segments a file, within the budget."""

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from search.retrieval.citation import Citation
from search.retrieval.packing import MAX_SEGMENTS_PER_FILE, Passage, merge, pack


def lines(start, end, score=0.5, path="a.py", section=None, doc_id=None):
    citation = Citation(kind="line", path=path, section=section, start=start, end=end)
    doc_id = doc_id or path
    chunk_id = f"{doc_id}:{start}-{end}"
    return Passage(chunk_id=chunk_id, doc_id=doc_id, citation=citation, score=score, ordinal=start)


def fragments(segments):
    return [segment.citation.uri.partition("#")[2] for segment in segments]


def one(segment):
    return 1


def line_count(segment):
    return segment.citation.end - segment.citation.start + 1


def test_files_come_by_their_best_score():
    hits = [lines(80, 90, 0.6), lines(50, 60, 0.7), lines(30, 35, 0.8), lines(8, 14, 0.5), lines(1, 9, 0.9)]
    [packed] = pack(hits, size_of=one, budget=100)
    assert fragments(packed.segments) == ["L1-L14", "L30-L35", "L50-L60"]
    assert packed.score == 0.9 and packed.path == "a.py"
    assert [segment.score for segment in packed.segments] == [0.9, 0.8, 0.7]
    hits = [
        lines(1, 5, 0.9), lines(11, 15, 0.8), lines(30, 35, 0.7), lines(50, 55, 0.6), lines(6, 10, 0.5),
    ]  # fmt: skip
    [packed] = pack(hits, size_of=one, budget=100)
    assert fragments(packed.segments) == ["L1-L15", "L30-L35", "L50-L55"]
    hits = [lines(1, 2, 0.5, "b"), lines(1, 2, 0.9, "c"), lines(1, 2, 0.5, "a"), lines(9, 9, 0.1, "c")]
    assert [packed.path for packed in pack(hits, size_of=one, budget=100)] == ["c", "a", "b"]
    assert len(pack([lines(1, 5), lines(4, 9, 0.4, doc_id="other")], size_of=one, budget=9)) == 2


def test_touching_passages_are_merged():
    assert fragments(merge([lines(1, 9), lines(10, 14)])) == ["L1-L14"]
    assert fragments(merge([lines(1, 9), lines(11, 14)])) == ["L1-L9", "L11-L14"]
    assert fragments(merge([lines(1, 20), lines(3, 4), lines(21, 22)])) == ["L1-L22"]
    asked = []

    def is_blank(doc_id, start, end):
        asked.append((doc_id, start, end))
        return (start, end) == (10, 11)

    merged = merge([lines(1, 9), lines(12, 14), lines(16, 17)], is_blank)
    assert fragments(merged) == ["L1-L14", "L16-L17"]
    assert asked == [("a.py", 10, 11), ("a.py", 15, 15)]

    [merged] = merge([lines(5, 9, section="Use"), lines(1, 5, section="Install")])
    assert merged.citation.section == "Install"
    assert [passage.chunk_id for passage in merged.passages] == ["a.py:1-5", "a.py:5-9"]

    pieces = [replace(lines(4, 4), chunk_id=id_, ordinal=n) for id_, n in (("a", 9), ("b", 7), ("c", 8))]
    [merged] = merge(pieces)
    assert [passage.chunk_id for passage in merged.passages] == ["b", "c", "a"]

    def passage(**fields):
        citation = Citation(path="d", **fields)
        return Passage(chunk_id=citation.uri, doc_id="d", citation=citation, score=0.5)

    page_4, page_5 = passage(kind="page", page=4), passage(kind="page", page=5)
    assert fragments(merge([page_5, page_4, page_4])) == ["page=4", "page=5"]
    talks = [passage(kind="time", start_s=start, end_s=start + 10.0) for start in (0.0, 10.0, 20.5)]
    assert fragments(merge(talks)) == ["t=0.000,20.000", "t=20.500,30.500"]
    box = passage(kind="region", x=0, y=0, w=9, h=9)
    boxes = [box, box, passage(kind="region", x=1, y=0, w=9, h=9)]
    assert fragments(merge(boxes)) == ["xywh=0,0,9,9", "xywh=1,0,9,9"]


def test_budget_leaves_out_what_does_not_fit():
    hits = [
        lines(1, 10, 0.9), lines(20, 40, 0.8), lines(60, 63, 0.7), lines(1, 9, 0.6, "b"),
        lines(1, 1, 0.5, "c"),
    ]  # fmt: skip
    packed = pack(hits, size_of=line_count, budget=16)
    assert {file.path: fragments(file.segments) for file in packed} == {
        "a.py": ["L1-L10", "L60-L63"],
        "c": ["L1"],
    }

    hits = [lines(1, 10, 0.5), lines(11, 20, 0.9), lines(21, 30, 0.8)]
    [packed] = pack(hits, size_of=line_count, budget=25)
    assert fragments(packed.segments) == ["L11-L30"]

    assert pack([lines(1, 10), lines(20, 25)], size_of=line_count, budget=5) == []
    hits = [lines(1, 5, 0.9), lines(6, 10, 0.72), lines(1, 5, 0.8, "b")]
    packed = pack(hits, size_of=line_count, budget=12)
    assert [(file.path, fragments(file.segments)) for file in packed] == [
        ("a.py", ["L1-L5"]),
        ("b", ["L1-L5"]),
    ]


SPANS = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 9)), max_size=12)
PASSAGES = st.lists(
    st.builds(
        lambda start, length, score, path: lines(start, start + length, score, path), st.integers(1, 60),
        st.integers(0, 9), st.floats(0, 1), st.sampled_from(["a", "b", "c"]),
    ),
    max_size=20,
    unique_by=lambda passage: passage.chunk_id,
)  # fmt: skip


@given(SPANS)
def test_merging_covers_the_same_lines_with_gaps_between(spans):
    merged = merge([lines(start, start + length) for start, length in spans])
    covered = {line for start, length in spans for line in range(start, start + length + 1)}
    pairs = [(segment.citation.start, segment.citation.end) for segment in merged]
    assert {line for start, end in pairs for line in range(start, end + 1)} == covered
    assert all(end + 1 < start for (_, end), (start, _) in pairwise(pairs))


@given(PASSAGES, st.integers(0, 120), st.randoms())
def test_no_budget_is_exceeded_and_no_file_has_a_fourth_segment_in_any_order(passages, budget, random):
    packed = pack(passages, size_of=line_count, budget=budget)
    shuffled = random.sample(passages, len(passages))
    assert pack(shuffled, size_of=line_count, budget=budget) == packed
    segments = [segment for file in packed for segment in file.segments]
    assert sum(line_count(segment) for segment in segments) <= budget
    assert all(1 <= len(file.segments) <= MAX_SEGMENTS_PER_FILE for file in packed)
    for file in packed:
        spans = [(segment.citation.start, segment.citation.end) for segment in file.segments]
        assert all(end + 1 < start for (_, end), (start, _) in pairwise(spans))
        assert file.score == max(segment.score for segment in file.segments)
    assert [file.score for file in packed] == sorted((file.score for file in packed), reverse=True)


@given(PASSAGES)
def test_with_room_for_all_a_file_has_its_three_best_segments_whole(passages):
    packed = {file.path: file for file in pack(passages, size_of=line_count, budget=10_000)}
    for path in {passage.doc_id for passage in passages}:
        merged = merge([passage for passage in passages if passage.doc_id == path])
        best = sorted(merged, key=lambda segment: (-segment.score, segment.citation.start))
        assert set(packed[path].segments) == set(best[:MAX_SEGMENTS_PER_FILE])
