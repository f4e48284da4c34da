"""Windows of lines agree with the parsers' line numbers, within bounded memory."""

from io import BytesIO

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ingest.parsers.decode import decode, split_lines
from search.documents import line_window
from search.documents.line_window import MAX_LINE_CHARS, read_lines

texts = st.text(st.sampled_from(list("ab\n\r é漢🥙\u2028\x0b\0")), max_size=60)
# two NULs may be taken for UTF-16, by a small block in another order than by all bytes
narrow_texts = texts.filter(lambda text: text.count("\0") < 2)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(line_window, "_BLOCK_BYTES", 5)


def read_all(content):
    return [line.text for line in read_lines(BytesIO(content), first=1, count=10_000).lines]


@given(text=texts, charset=st.sampled_from(["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]))
def test_text_with_a_byte_order_mark_is_decoded(text, charset):
    assume(not text.startswith("\0"))  # after a mark of UTF-16 it makes one of UTF-32
    content = f"\ufeff{text}".encode(charset)
    assert read_all(content) == split_lines(text.replace("\0", "\ufffd")) == split_lines(decode(content))


@given(
    text=narrow_texts,
    mark=st.sampled_from([b"", b"\xef\xbb\xbf"]),
    first=st.integers(1, 70),
    count=st.integers(1, 10),
)
def test_window_is_a_slice_of_the_lines_that_the_parsers_number(text, mark, first, count):
    content = mark + text.encode()
    window = read_lines(BytesIO(content), first=first, count=count)
    whole = split_lines(decode(content))
    assert read_all(content) == whole
    assert [line.text for line in window.lines] == whole[first - 1 : first - 1 + count]
    assert [line.number for line in window.lines] == list(range(first, first + len(window.lines)))
    assert window.total == len(whole)


@given(content=st.binary(max_size=40))
def test_line_window_shows_any_bytes_without_nuls(content):
    assert all("\0" not in line for line in read_all(content))


def test_long_line_is_truncated(monkeypatch):
    monkeypatch.setattr(line_window, "_BLOCK_BYTES", 1 << 16)
    content = ("é" * 1_000_000 + "\nnext").encode()
    first, second = read_lines(BytesIO(content), first=1, count=5).lines
    assert (first.text, first.is_cut) == ("é" * MAX_LINE_CHARS, True)
    assert (second.text, second.is_cut) == ("next", False)
    (whole,) = read_lines(BytesIO(b"x" * MAX_LINE_CHARS), first=1, count=1).lines
    assert not whole.is_cut


def test_memory_does_not_grow_with_the_document():
    class Endless:
        def __init__(self):
            self.left = 50

        def read(self, size):
            self.left -= 1
            assert size <= line_window._BLOCK_BYTES
            return b"a\nb" if self.left else b""

    window = read_lines(Endless(), first=2, count=1)
    assert (len(window.lines), window.total) == (1, 50)
