"""Documents at which a chunker or a parser could take too long, or give too much."""

import base64
import random

import pytest
from docutils.statemachine import StringList

from ingest.chunking import drafts, lines
from ingest.chunking.types import MAX_TOKENS
from ingest.parsers.errors import ParseRefused
from ingest.parsers.registry import parse
from ingest.parsers.rst_states import Problems, outermost_nodes
from search.embedders.tokenizer import TokenCounter


class Meter:
    """The tokenizer, with the characters that it was given."""

    def __init__(self, exact: TokenCounter) -> None:
        self._exact = exact
        self.chars = 0

    def count(self, text: str) -> int:
        self.chars += len(text)
        return self._exact.count(text)

    def offsets(self, text: str):
        self.chars += len(text)
        return self._exact.offsets(text)


def one_line(kind: str, size: int) -> str:
    chance = random.Random(size)
    if kind == "base64":
        return base64.b64encode(chance.randbytes(size * 3 // 4)).decode()
    if kind == "ideographs":
        return "".join(chance.choices([chr(code) for code in range(0x4E00, 0x5E00)], k=size))
    return "".join(f'"k{chance.randrange(10**6)}":{chance.random()},' for _ in range(size // 28))


@pytest.mark.parametrize(("kind", "most"), [("base64", 4), ("ideographs", 1), ("json", 4)])
def test_text_without_spaces_is_encoded_a_few_times_at_most(exact_counter, kind, most):
    line = one_line(kind, 60_000)
    meter = Meter(exact_counter)
    counts = lines.TokenCounts(meter)
    pieces = list(lines.split_line(line, MAX_TOKENS, counts))
    assert all(exact_counter.count(piece) <= MAX_TOKENS for piece in pieces)
    assert "".join(pieces) == line
    assert meter.chars <= most * len(line)


def test_a_document_of_too_many_chunks_is_refused_in_words(chunk_file, monkeypatch):
    monkeypatch.setattr(drafts, "MAX_CHUNKS", 3)
    text = "".join(f"# Part {n}\n\nWords.\n\n" for n in range(4))
    with pytest.raises(ParseRefused, match="more than 3 passages; split it") as refusal:
        chunk_file(text, "a.md")
    assert refusal.value.code == "too_many_chunks"
    assert len(chunk_file(text.partition("# Part 3")[0], "a.md")) == 3


def test_counting_ends_as_soon_as_there_are_too_many_tokens(exact_counter, monkeypatch):
    monkeypatch.setattr(lines, "MAX_CHUNKS", 2)
    monkeypatch.setattr(lines, "COUNTED_TOGETHER", 10)
    meter = Meter(exact_counter)
    rows = [f"{number},{number * 7919}" for number in range(100_000, 110_000)]
    with pytest.raises(ParseRefused, match="passages"):
        lines.SizedLines(rows, lines.TokenCounts(meter))
    assert meter.chars < sum(map(len, rows)) / 10


def test_many_lists_do_not_copy_the_rest_of_the_text(monkeypatch):
    text = [line for n in range(400) for line in (f"Term {n}", "  Its definition.", "", "Words.", "")]
    copied = []
    make = StringList.__init__

    def note(self, initlist=None, *args, **options):
        copied.append(len(initlist or ()))
        make(self, initlist, *args, **options)

    monkeypatch.setattr(StringList, "__init__", note)
    found = outermost_nodes(text, Problems())
    assert [node.line for node in found] == [n for at in range(400) for n in (5 * at + 1, 5 * at + 4)]
    assert sum(copied) < 4 * len(text)


def test_a_broken_table_deep_in_a_text_is_text():
    text = "Words.\n\n====  ====\na     b\n====  ====\nc     d\n\nMore words, 部署.\n"
    document = parse(text.encode(), "a.rst")
    assert document.parser == "rst"
    assert "Malformed table" in document.warnings[0]
