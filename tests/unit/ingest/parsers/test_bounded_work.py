"""Each parser's work, memory and text grow with the size of a file at most, whatever is in it."""

import io
import sys
import time
import tracemalloc
import zipfile
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.parsers.errors import ParseRefused
from ingest.parsers.file_types import type_by_name
from ingest.parsers.images import image
from ingest.parsers.pdf import parse as pdf_parse
from ingest.parsers.registry import PARSERS, parse
from ingest.parsers.types import ParsedDocument
from tests.support.archives import zip_of
from tests.unit.ingest.parsers.hostile_shapes import SHAPES

#: bytes of the shorter of two files
_BYTES = 300
#: those of data, whose records are told apart in longer runs only
_DATA_BYTES = dict.fromkeys(("properties", "structured"), 1_400)
#: bytes of the shorter of two files of which one is four times as long
_LONG_BYTES = 10_000
#: four times, with what a busy machine adds; squared work would be sixteen times
_LONG_GROWTH = 8
#: doubled, with what is rounded up
_GROWTH = 2.5
#: what a parser does once, whatever the file
_FIXED_CALLS = 2_000
_FIXED_BYTES = 300_000
#: characters of text by bytes of the file, and those of references to attributes in AsciiDoc
_MOST_CHARS = 8
_FIXED_CHARS = 1_000_000
#: processor time below which no growth is told
_SHORT_S = 0.25

#: markup that is put into the parts of office files
_MARKUP = (
    b"<",
    b"/>",
    b"<!--",
    b'"',
    b"\\",
    b"..",
    b"&#0;",
    b"\0",
    b"-1",
    b"99999999999",
    b"<w:tbl>",
    b"</a:p>",
    b"\xff",
)

CASES = [(parser, shape) for parser in PARSERS for shape in SHAPES.get(parser, ("", {}))[1]]


@pytest.fixture(autouse=True)
def without_recognition(monkeypatch):
    monkeypatch.setattr(image, "recognise", lambda picture: [])
    monkeypatch.setattr(pdf_parse, "recognise", lambda picture: [])
    monkeypatch.setattr(image, "is_ocr_installed", lambda: True)


def read(parser, content):
    """Return the text of a file; a parser that fails leaves the file to the next one of its ladder."""
    path = SHAPES[parser][0]
    with suppress(Exception):
        return "\n".join(PARSERS[parser](content, type_by_name(path)).lines)
    return ""


def count_calls(parser, content):
    """Return the number of Python and C functions that a parser calls for a file."""
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        read(parser, content)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("parser", PARSERS)
def test_calls_and_text_of_each_parser_grow_with_the_file_at_most(parser, subtests):
    assert parser in SHAPES, "Add hostile shapes of the format that it reads."
    size = _DATA_BYTES.get(parser, _BYTES)
    for name, make in SHAPES[parser][1].items():
        with subtests.test(shape=name):
            content = make(2 * size)
            assert len(read(parser, content)) <= _MOST_CHARS * len(content) + _FIXED_CHARS
            calls = count_calls(parser, make(size))
            assert count_calls(parser, content) <= _GROWTH * calls + _FIXED_CALLS


@pytest.mark.slow
@pytest.mark.parametrize(("parser", "shape"), CASES)
def test_time_and_memory_of_each_parser_grow_with_the_file_at_most(parser, shape):
    def measure(content):
        """Return the processor time of a parser, and the memory that it takes at most."""
        began = time.process_time()
        read(parser, content)
        taken_s = time.process_time() - began
        tracemalloc.start()
        read(parser, content)
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return taken_s, peak_bytes

    make = SHAPES[parser][1][shape]
    short_s, short_bytes = measure(make(_LONG_BYTES))
    taken_s, peak_bytes = measure(make(4 * _LONG_BYTES))
    assert taken_s < _SHORT_S or taken_s <= _LONG_GROWTH * short_s
    assert peak_bytes <= _LONG_GROWTH * short_bytes + _FIXED_BYTES


files = st.sampled_from(sorted(SHAPES)).flatmap(
    lambda parser: st.tuples(
        st.just(SHAPES[parser][0]), st.sampled_from([*SHAPES[parser][1].values()]), st.integers(40, 400)
    )
)


def check_outcome(content, path):
    try:
        assert isinstance(parse(content, path), ParsedDocument)
    except ParseRefused as refusal:
        assert refusal.code and refusal.detail


@given(st.sampled_from([path for path, _ in SHAPES.values()]), st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(path, content):
    check_outcome(content, path)


@given(files, st.lists(st.tuples(st.integers(0, 5_000), st.binary(max_size=3)), max_size=4))
def test_damaged_file_is_read_or_refused(file, changes):
    path, make, size = file
    content = bytearray(make(size))
    for place, written in changes:
        at = place % (len(content) + 1)
        content[at : at + 1 + len(written)] = written
    check_outcome(bytes(content), path)


@given(
    st.sampled_from(["docx", "pptx", "xlsx", "odf"]).flatmap(
        lambda parser: st.tuples(st.just(SHAPES[parser][0]), st.sampled_from([*SHAPES[parser][1].values()]))
    ),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5_000), st.sampled_from(_MARKUP)), max_size=4),
)
def test_damaged_part_of_an_office_file_is_read_or_refused(file, changes):
    path, make = file
    with zipfile.ZipFile(io.BytesIO(make(200))) as source:
        parts = {name: bytearray(source.read(name)) for name in source.namelist()}
    for number, place, written in changes:
        part = parts[sorted(parts)[number % len(parts)]]
        at = place % (len(part) + 1)
        part[at : at + len(written)] = written
    check_outcome(zip_of(parts), path)
