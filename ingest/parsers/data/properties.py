"""Java properties: one line per entry, `key = value`, with its lines in the file."""

import re
from collections.abc import Iterator, Sequence

from ingest.parsers.data.escapes import BREAK, expand, split_decoded
from ingest.parsers.data.structured import data_block
from ingest.parsers.decode import UNSAFE, join_surrogates, split_lines
from ingest.parsers.text import paragraphs
from ingest.parsers.types import FileType, LineSpan, Outline
from search.documents.charset import REPLACEMENT, known_charset

#: the format's charset, where it isn't UTF-8 as in its newer versions; browsers' name for Latin-1
LATIN_1 = "cp1252"
COMMENT = re.compile(r"\s*[#!]")
CONTINUED = re.compile(r"(?<!\\)(?:\\\\)*\\$")
ENTRY = re.compile(r"\s*((?:\\.|[^\\\s=:])*)(?:\s*[=:]\s*|\s+|$)(.*)", re.DOTALL)
ESCAPE = re.compile(r"\\(?:u([\da-fA-F]{4})|(.))", re.DOTALL)
LETTERS = {"n": BREAK, "r": BREAK, "t": " ", "f": " "}


def parse_properties(content: bytes, file: FileType) -> Outline:
    """Return the entries with their escapes decoded and their continued lines joined, and the comments."""
    lines = split_lines(UNSAFE.sub(REPLACEMENT, content.decode(known_charset(content) or LATIN_1, "replace")))
    entries = list(_logical_lines(lines))
    texts = [text for text, _ in entries]
    blocks = [data_block(texts, span, file) for span in paragraphs(texts, 1, len(texts))]
    decoded = [split_decoded(text) for text in texts]
    return expand(decoded, blocks, [span for _, span in entries])


def _logical_lines(lines: Sequence[str]) -> Iterator[tuple[str, LineSpan]]:
    start = 0
    parts: list[str] = []
    for number, line in enumerate(lines, start=1):
        if not parts and (COMMENT.match(line) or not line.strip()):
            yield line, LineSpan(number, number)
            continue
        start = start if parts else number
        is_continued = number < len(lines) and CONTINUED.search(line)
        parts.append((line[:-1] if is_continued else line).lstrip())
        if not is_continued:
            yield _entry("".join(parts)), LineSpan(start, number)
            parts = []


def _entry(text: str) -> str:
    found = ENTRY.match(text)
    key, value = (found[1], found[2]) if found else ("", text)
    return " = ".join(filter(None, (_unescape(key), _unescape(value))))


def _unescape(text: str) -> str:
    return join_surrogates(
        ESCAPE.sub(
            lambda found: chr(int(found[1], 16)) if found[1] else LETTERS.get(found[2], found[2]), text
        )
    )
