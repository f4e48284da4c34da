"""Where text lies in its file: walls that no chunk reaches over, and spans around several lines."""

import pytest

from ingest.chunking.prose import chunk_prose
from ingest.chunking.tokens import TokenCounts
from ingest.parsers.types import (
    Block,
    LineSpan,
    Outline,
    PageSpan,
    ParsedDocument,
    RegionSpan,
    TimeSpan,
)


def document(lines, blocks, **outline) -> ParsedDocument:
    return ParsedDocument(
        title="Title",
        lang="en",
        outline=Outline(lines=lines, blocks=blocks, **outline),
        mime="application/pdf",
        media="pdf",
        language=None,
        parser="pdf",
        metadata={},
        tags=(),
        warnings=(),
    )


def paragraphs(count: int) -> list[Block]:
    return [Block(kind="paragraph", span=LineSpan(line, line)) for line in range(1, count + 1)]


PLACES = [
    [PageSpan(2), PageSpan(2), PageSpan(3)],
    [RegionSpan(10, 20, 30, 5), RegionSpan(5, 26, 20, 6), RegionSpan(0, 90, 9, 9)],
    [TimeSpan(1_500, 2_000), TimeSpan(2_000, 4_250), TimeSpan(9_000, 9_100)],
    [LineSpan(4, 4), LineSpan(7, 9), LineSpan(20, 20)],
]
AROUND_TWO = [PageSpan(2), RegionSpan(5, 20, 35, 12), TimeSpan(1_500, 4_250), LineSpan(4, 9)]
ON_THE_WIRE = [
    {"kind": "page", "page": 2},
    {"kind": "region", "x": 5, "y": 20, "w": 35, "h": 12},
    {"kind": "time", "start_s": 1.5, "end_s": 4.25},
    {"kind": "line", "start": 4, "end": 9},
]


@pytest.mark.parametrize(("origins", "around"), list(zip(PLACES, AROUND_TWO, strict=True)))
def test_a_span_is_around_the_places_of_its_lines(origins, around):
    parsed = document(["one", "two", "three"], paragraphs(3), origins=origins)
    assert parsed.source_span(1, 2) == around
    assert parsed.source_span(3, 3) == origins[2]
    assert type(around).around(origins[1::-1]) == around


def test_without_places_of_their_own_lines_are_those_of_the_file():
    assert document(["one", "two"], paragraphs(2)).source_span(1, 2) == LineSpan(1, 2)


@pytest.mark.parametrize(("origins", "wire"), list(zip(PLACES, ON_THE_WIRE, strict=True)))
def test_a_chunk_is_cited_by_the_places_of_its_lines(exact_counter, origins, wire):
    parsed = document(["one", "two", "three"], paragraphs(3), origins=origins, walls=(3,))
    first, second = chunk_prose(parsed, TokenCounts(exact_counter))
    assert (first.text, list(first.spans)) == ("one\ntwo", [wire])
    assert (second.text, list(second.spans)) == ("three", [origins[2].to_wire()])


@pytest.mark.parametrize("walls", [(), (2,), (3, 5), (2, 3, 4, 5, 6)])
def test_no_chunk_reaches_over_a_wall(exact_counter, walls):
    lines = [f"line {number}" for number in range(1, 7)]
    chunks = chunk_prose(document(lines, paragraphs(6), walls=walls), TokenCounts(exact_counter))
    spans = [(chunk.spans[0]["start"], chunk.spans[0]["end"]) for chunk in chunks]
    starts = [1, *walls]
    assert spans == [(start, end - 1) for start, end in zip(starts, [*walls, 7], strict=True)]


def test_a_heading_over_the_wall_goes_with_the_first_page_of_its_text(exact_counter):
    blocks = [Block(kind="heading", span=LineSpan(1, 1), text="Part", level=1), *paragraphs(3)[1:]]
    origins = [PageSpan(1), PageSpan(2), PageSpan(3)]
    parsed = document(["Part", "two", "three"], blocks, origins=origins, walls=(2, 3))
    first, second = chunk_prose(parsed, TokenCounts(exact_counter))
    assert [span["page"] for span in first.spans] == [2, 1]
    assert (second.text, second.breadcrumb, second.spans[0]["page"]) == ("three", "Title > Part", 3)
