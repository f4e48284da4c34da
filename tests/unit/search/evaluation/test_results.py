"""Coverage: the judged places that ten hits cite."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.evaluation.judged import DocumentName, Qrel
from search.evaluation.results import CitedHit, citation_coverage, overlaps
from search.retrieval.citation import parse_uri


def cited_hit(uri, source="docs", version=""):
    citation = parse_uri(uri)
    name = DocumentName(path=citation.path, source=source, version=version)
    return CitedHit(document=name, citation=citation)


JUDGED = (
    Qrel(path="a.md", source="docs", fragment="L7-L12"),
    Qrel(path="a.md", source="docs", fragment="L40", grade=2),
    Qrel(path="b.md"),
    Qrel(path="c.md", grade=0),
)


def test_citation_coverage_counts_cited_relevant_places(subtests):
    assert citation_coverage(JUDGED, [cited_hit("a.md#L12-L20"), cited_hit("x.md#L1")]) == pytest.approx(
        1 / 3
    )
    assert citation_coverage(JUDGED, [cited_hit("a.md#L1-L50"), cited_hit("b.md#page=9")]) == 1.0
    assert citation_coverage(JUDGED, [cited_hit("a.md#L13-L39"), cited_hit("c.md#L1")]) == 0.0
    assert citation_coverage(JUDGED, []) == 0.0
    assert citation_coverage(JUDGED[3:], [cited_hit("c.md#L1")]) is None
    assert citation_coverage((), []) is None
    hits = [cited_hit("a.md#L7", source="other"), cited_hit("a.md#L40", version="v2")]
    assert citation_coverage(JUDGED[:2], hits) == 0.0
    assert citation_coverage(JUDGED[2:], [cited_hit("b.md#L1", source="other")]) == 1.0
    others = [cited_hit(f"x{n}.md#L1") for n in range(10)]
    assert citation_coverage(JUDGED[2:], [*others[:9], cited_hit("b.md#L1")]) == 1.0
    assert citation_coverage(JUDGED[2:], [*others, cited_hit("b.md#L1")]) == 0.0
    cases = [
        ("L7-L12", "L12-L20", True), ("L7-L12", "L13", False), ("L7", "L1-L100", True),
        ("page=4", "page=4", True), ("page=4", "page=5", False), ("page=4", "page=4&xywh=1,2,3,4", True),
        ("page=4", "L4", False), ("xywh=0,0,10,10", "xywh=9,9,5,5", True),
        ("xywh=0,0,10,10", "xywh=10,0,5,5", False), ("page=1&xywh=0,0,9,9", "page=2&xywh=0,0,9,9", False),
        ("t=1.000,2.000", "t=2.000,3.000", True), ("t=1.000,2.000", "t=2.001,3.000", False),
        ("t=7.000,12.000", "L7-L12", False),
    ]  # fmt: skip
    for one, other, meet in cases:
        with subtests.test(one=one):
            first, second = parse_uri(f"a#{one}"), parse_uri(f"a#{other}")
            assert overlaps(first, second) is overlaps(second, first) is meet


_LINES = st.tuples(st.integers(1, 30), st.integers(0, 10)).map(lambda at: range(at[0], at[0] + at[1] + 1))


@given(_LINES, _LINES)
def test_two_line_ranges_overlap_when_they_share_a_line(one, other):
    first, second = (
        parse_uri(f"a#L{each[0]}" if len(each) == 1 else f"a#L{each[0]}-L{each[-1]}") for each in (one, other)
    )
    assert overlaps(first, second) == bool(set(one) & set(other))
