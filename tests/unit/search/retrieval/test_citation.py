import dataclasses
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.retrieval.citation import Citation, citation_from_span, parse_uri
from search.retrieval.errors import InvalidCitation

URIS = {
    "a/b.md#L7-L12": Citation(kind="line", path="a/b.md", start=7, end=12),
    "a/b.md#L7": Citation(kind="line", path="a/b.md", start=7, end=7),
    "doc.pdf#page=4": Citation(kind="page", path="doc.pdf", page=4),
    "img.png#xywh=1,2,3,4": Citation(kind="region", path="img.png", x=1, y=2, w=3, h=4),
    "doc.pdf#page=4&xywh=0,2,3,4": Citation(kind="region", path="doc.pdf", page=4, x=0, y=2, w=3, h=4),
    "talk.vtt#t=822.000,850.000": Citation(kind="time", path="talk.vtt", start_s=822.0, end_s=850.0),
    "Über uns/計画 2.md#L1": Citation(kind="line", path="Über uns/計画 2.md", start=1, end=1),
    "C%23 50%25 why%3F.md#L1": Citation(kind="line", path="C# 50% why?.md", start=1, end=1),
}


def test_citation_is_written_and_parsed(subtests):
    for uri, citation in URIS.items():
        with subtests.test(uri=uri):
            assert citation.uri == uri
            assert parse_uri(uri) == citation
    cases = [
        "a.md", "a.md#", "#L7", "a.md#L0", "a.md#L07", "a.md#L7-L7", "a.md#L12-L7", "a.md#L7-12", "a.md#l7",
        "a.md#L7 ", "a.md#L7\n", "a.md#L٧", "a.md#L-1", "a#b.md#L7", "a.md#page=0", "a.md#page=04",
        "a.md#L1e3", "a.md#xywh=1,2,3", "a.md#xywh=1,2,0,4", "a.md#xywh=1, 2,3,4",
        "a.md#xywh=1,2,3,4&page=4", "a.md#t=1,2", "a.md#t=1.0,2.0", "a.md#t=01.000,2.000",
        "a.md#t=2.000,1.000", "a.md#t=1.0000,2.000", "a.md#L" + "9" * 5000, "", "#",
    ]  # fmt: skip
    for uri in cases:
        with subtests.test(uri=uri), pytest.raises(InvalidCitation):
            parse_uri(uri)


PATHS = st.text(min_size=1) | st.text(min_size=1, alphabet="a#%?235fF")
NUMBERS = st.integers(min_value=1, max_value=10**12 - 1)
TIMES = st.integers(min_value=0, max_value=10**12 - 1).map(lambda ms: ms / 1000)
CITATIONS = st.one_of(
    st.builds(
        lambda path, ends: Citation(kind="line", path=path, start=min(ends), end=max(ends)),
        PATHS,
        st.tuples(NUMBERS, NUMBERS),
    ),
    st.builds(lambda path, page: Citation(kind="page", path=path, page=page), PATHS, NUMBERS),
    st.builds(
        lambda path, page, box: Citation(
            kind="region", path=path, page=page, **dict(zip("xywh", box, strict=True))
        ),
        PATHS,
        st.none() | NUMBERS,
        st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS),
    ),
    st.builds(
        lambda path, ends: Citation(kind="time", path=path, start_s=min(ends), end_s=max(ends)),
        PATHS,
        st.tuples(TIMES, TIMES),
    ),
)


@given(CITATIONS)
def test_parsing_is_the_inverse_of_writing(citation):
    assert parse_uri(citation.uri) == citation
    with_section = dataclasses.replace(citation, section="Install")
    assert dataclasses.replace(parse_uri(with_section.uri), section="Install") == with_section


@given(st.text() | st.text(alphabet="a#Lpagexywht=&-.,0123456789"))
def test_fragment_of_a_parsed_citation_is_written_the_same(uri):
    try:
        citation = parse_uri(uri)
    except InvalidCitation:
        return
    assert citation.uri.partition("#")[2] == uri.partition("#")[2]


def test_unescaped_path_of_an_older_citation_is_parsed():
    assert parse_uri("50% why?.md#L1") == Citation(kind="line", path="50% why?.md", start=1, end=1)


def test_numbers_that_do_not_fit_the_kind_are_refused(subtests):
    cases = [
        {"kind": "line", "start": 1}, {"kind": "line", "start": 3, "end": 2},
        {"kind": "line", "start": 0, "end": 2}, {"kind": "line", "start": 1, "end": 2, "page": 3},
        {"kind": "line", "start": 1, "end": 10**12}, {"kind": "page"},
        {"kind": "region", "x": 1, "y": 2, "w": 3},
        {"kind": "region", "x": 1, "y": 2, "w": 3, "h": 4, "start": 1},
        {"kind": "time", "start_s": 1.0005, "end_s": 2.0},
        {"kind": "time", "start_s": float("nan"), "end_s": 2.0},
    ]  # fmt: skip
    for fields in cases:
        with subtests.test(fields=fields), pytest.raises(InvalidCitation):
            Citation(path="a.md", **fields)
    with pytest.raises(InvalidCitation):
        Citation(kind="page", path="", page=1)


def test_span_of_a_chunk_is_cited(subtests, caplog):
    cases = [
        ({"kind": "line", "start": 7, "end": 12}, "f#L7-L12"), ({"kind": "page", "page": 4}, "f#page=4"),
        ({"kind": "region", "x": 1.4, "y": 2, "w": 3, "h": 4}, "f#xywh=1,2,3,4"),
        ({"kind": "region", "page": 2, "x": 1, "y": 2, "w": 3, "h": 4}, "f#page=2&xywh=1,2,3,4"),
        ({"kind": "time", "start_s": 822, "end_s": 850.00049}, "f#t=822.000,850.000"),
    ]  # fmt: skip
    for span, uri in cases:
        with subtests.test(span=span):
            citation = citation_from_span("f", "Install", span)
            assert (citation.uri, citation.section) == (uri, "Install")
            assert caplog.records == []
    cases = [
        {"kind": "byte", "start": 0, "end": 9}, None, {}, {"kind": "line", "start": 9},
        {"kind": "line", "start": 9, "end": 2}, {"kind": "page", "page": "four"},
        {"kind": "time", "start_s": None, "end_s": 2},
        {"kind": "time", "start_s": float("inf"), "end_s": float("inf")},
        {"kind": "page", "page": float("inf")},
    ]  # fmt: skip
    for span in cases:
        caplog.clear()
        with subtests.test(span=span), caplog.at_level(logging.WARNING):
            assert citation_from_span("f", None, span).uri == "f#L1"
            assert [record.levelname for record in caplog.records] == ["WARNING"]
