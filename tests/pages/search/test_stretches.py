"""Sections of long Markdown: their borders, and the cost of finding one."""

import io
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.documents.line_window import line_heads, read_lines
from search.pages.markdown.landmarks import MOST_LINES, find_stretch

_LINE = st.sampled_from(
    ["", "# h", "text", "  more", "```", "````", "~~~ x", "- a", "    code", "> q", "x" * 500]
)


def all_stretches(text):
    content, found, line = io.BytesIO(text.encode()), [], 1
    while True:
        content.seek(0)
        stretch = find_stretch(content, line)
        if found and stretch == found[-1]:
            return found
        found.append(stretch)
        line = stretch.last + 1


@given(st.lists(_LINE, max_size=30), st.integers(1, 90))
def test_windows_cover_every_line_once(lines, times):
    text = "\n".join(lines * times)
    total = read_lines(io.BytesIO(text.encode()), first=1, count=1).total
    stretches = all_stretches(text)

    assert [line for each in stretches for line in range(each.first, each.last + 1)] == [*range(1, total + 1)]
    assert all(each.last - each.first < MOST_LINES for each in stretches)
    assert [each.earlier for each in stretches[1:]] == [each.first for each in stretches[:-1]]


def test_a_stretch_does_not_begin_within_a_list_item_or_code_unless_it_must():
    block = "- item\n\n  goes on\n\n      code\n\n"
    firsts = [each.first for each in all_stretches(block * 300)]

    assert len(firsts) > 2
    assert all(first % 6 == 1 for first in firsts)


def test_a_fence_that_goes_on_says_how_it_was_opened():
    stretches = all_stretches("~~~~ python\n" + "```\n~~~\n" * 700 + "~~~~\n\ntext\n")

    assert [each.opening for each in stretches[:3]] == ["", "~~~~ python", "~~~~ python"]


@pytest.mark.slow  # tracemalloc makes it ten times slower
def test_finding_a_stretch_takes_the_same_memory_in_a_long_document():
    for text in ("word *word*\n\n", "x"):
        content = io.BytesIO(text.encode() * (12_000_000 // len(text)))
        lines = content.getvalue().count(b"\n")
        tracemalloc.start()
        try:
            stretch = find_stretch(content, lines - 1)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

        assert stretch.last >= lines - 1
        assert peak < 20_000_000


def test_line_heads_report_the_length_of_each_line():
    for ending in ("\n", "\r\n", "\r"):
        content = io.BytesIO(ending.join(["a" * 200, "", "é"]).encode())
        assert list(line_heads(content)) == [(b"a" * 80, 200), (b"", 0), ("é".encode(), 2)]
