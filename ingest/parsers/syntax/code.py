"""Source code as lines, with its definitions where its language has a grammar."""

import re

from ingest.parsers.data.escapes import decode_escapes
from ingest.parsers.decode import decode, split_lines
from ingest.parsers.errors import ParseRefused
from ingest.parsers.syntax.subprocess_reader import read_syntax_in_subprocess
from ingest.parsers.types import Block, FileType, LineSpan, Outline

GENERATED = re.compile(r"@generated\b|\bcode generated\b.*\bdo not edit\b|<auto-?generated", re.IGNORECASE)
GENERATED_LINES = 5
#: mean length of non-blank lines above which a file counts as minified
MINIFIED_LINE_CHARS = 400
MINIFIED_MIN_CHARS = 2_000


def parse_code(content: bytes, file: FileType) -> Outline:
    """Return the lines of a source file as one block of code.

    Raises:
        ParseRefused: a tool wrote the file (`generated`, `minified`).
    """
    lines = split_lines(decode(content))
    if file.language == "xml" and (decoded := decode_escapes(lines, "xml")) is not None:
        lines = [line for (line,) in decoded]  # references are no line ends
    _refuse_machine_output(lines)
    if not any(line.strip() for line in lines):
        return Outline(lines=lines, blocks=())
    block = Block(
        kind="code",
        span=LineSpan(1, len(lines)),
        language=file.language,
        syntax=read_syntax_in_subprocess(lines, file),
    )
    return Outline(lines=lines, blocks=(block,))


def _refuse_machine_output(lines: list[str]) -> None:
    if any(GENERATED.search(line[:400]) for line in lines[:GENERATED_LINES]):
        raise ParseRefused("generated", "the file says that a tool generated it")
    filled = [len(line) for line in lines if line.strip()]
    size = sum(filled)
    if size > MINIFIED_MIN_CHARS and size / len(filled) > MINIFIED_LINE_CHARS:
        raise ParseRefused("minified", f"its lines have {size // len(filled)} characters on average")
