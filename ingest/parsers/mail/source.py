"""Source text of a mail without its encoded content, for mails that can't be split into parts."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ingest.parsers.decode import decode, split_lines
from ingest.parsers.text import paragraphs
from ingest.parsers.types import Block, FileType, Outline

#: headers that announce encoded text
ENCODED: Final = re.compile(r"content-transfer-encoding:\s*(?:base64|x-?uue)", re.IGNORECASE)
#: a line that is nothing but base64, as long as programs write it
BASE64_LINE: Final = re.compile(r"[A-Za-z0-9+/]{56,}={0,2}\s*")
BOUNDARY: Final = "--"


def parse_mail_source(content: bytes, file: FileType) -> Outline:
    """Return the lines of the file with its headers; base64 lines are in no block, so they aren't indexed."""
    lines = split_lines(decode(content))
    blocks = [
        Block(kind="paragraph", span=span)
        for start, end in _readable_runs(lines)
        for span in paragraphs(lines, start, end)
    ]
    return Outline(lines=lines, blocks=blocks)


def _readable_runs(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the runs of lines that are not encoded: numbers of the first and the last, from 1."""
    start, is_announced, is_encoded = 0, False, False
    for number, line in enumerate(lines, start=1):
        if line.startswith(BOUNDARY):
            is_announced = is_encoded = False
        elif ENCODED.match(line):
            is_announced = True
        elif is_announced and not line.strip():
            is_encoded = True
        if is_encoded or BASE64_LINE.fullmatch(line):
            if start:
                yield start, number - 1
            start = 0
        else:
            start = start or number
    if start:
        yield start, len(lines)
