"""Cited lines are read without reading the whole document."""

import pytest

from search.context.chunk_queries import MAX_LINE_CHARS, read_document_lines
from search.corpus.blobs import store_blob


@pytest.fixture
def lines_of(workspace):
    def read(text, *ranges):
        content = text if isinstance(text, bytes) else text.encode()
        return read_document_lines(workspace.pk, store_blob(workspace.pk, content), ranges)

    return read


def test_line_ranges_near_and_far_are_read(lines_of):
    lines = lines_of("".join(f"line {n}\n" for n in range(1, 5_001)), (4_000, 4_001), (10, 12), (13, 13))
    assert lines.text(10, 13) == "line 10\nline 11\nline 12\nline 13"
    assert lines.text(4_000, 4_001) == "line 4000\nline 4001"
    assert lines.text(13, 4_000) is None and lines.text(2_000, 2_000) is None
    assert lines_of("a\n\n \nb\n", (1, 1), (4, 4)).text(1, 4) == "a\n\n \nb"


def test_overlong_and_missing_lines_are_none(lines_of):
    lines = lines_of("a\n\n \t\nb\n", (1, 4))
    assert lines.is_blank(2, 3) and lines.is_blank(2, 1)
    assert not lines.is_blank(1, 2) and not lines.is_blank(3, 4) and not lines.is_blank(5, 10**12)
    lines = lines_of("a\nb\n", (1, 9))
    assert lines.text(1, 2) == "a\nb" and lines.text(2, 3) is None and lines.text(1, 10**12) is None
    lines = lines_of(f"{'x' * MAX_LINE_CHARS}\n{'y' * (MAX_LINE_CHARS + 1)}\nz", (1, 3))
    assert lines.text(1, 1) == "x" * MAX_LINE_CHARS and lines.text(3, 3) == "z"
    assert lines.text(2, 2) is None and lines.text(1, 3) is None


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_lines_are_read_in_the_document_s_encoding(lines_of, encoding):
    assert lines_of("erste\r\nzweite für 部署\rdritte".encode(encoding), (1, 3)).text(1, 3) == (
        "erste\nzweite für 部署\ndritte"
    )


def test_lines_of_a_document_without_stored_bytes_are_none(workspace):
    lines = read_document_lines(workspace.pk, "0" * 64, [(1, 3)])
    assert lines.text(1, 1) is None and not lines.is_blank(1, 1)
