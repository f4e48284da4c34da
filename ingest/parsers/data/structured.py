"""Data files and logs as their own lines, with breaks where records and keys begin."""

import re
from collections.abc import Iterator, Sequence

from ingest.parsers.data.escapes import decode_escapes, expand
from ingest.parsers.decode import decode, split_lines
from ingest.parsers.errors import ParseRefused
from ingest.parsers.text import paragraphs
from ingest.parsers.types import Block, FileType, LineSpan, Outline

#: characters of one line of data; chunks of a longer line could be cited only as "line 1"
MAX_LINE_CHARS = 1_000_000
#: a run of lines this long fits in a chunk, or nearly; breaks inside it would be useless
UNIT_CHARS = 600
#: levels of indentation that are searched for breaks
MAX_DEPTH = 12
CLOSING = re.compile(r"\s*[\]})]+[,;]?\s*$")
COMMENT = re.compile(r"\s*(?:#|//)")
#: formats in which a line in brackets begins a section
WITH_SECTIONS = frozenset({"toml", "ini"})
#: a date, a time or a level at the start of a line of a log, or host, user and date as web servers write
LOG_RECORD = re.compile(
    r"\W{0,2}(?:\d{4}[-/.]\d\d[-/.]\d\d|\d\d:\d\d:\d\d|\d{1,2}[-/.]\w{2,3}[-/.]\d{2,4}"
    r"|[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d|(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\b"
    r"|\S{1,60} \S{1,60} \S{1,60} \[\d\d/\w{3}/\d{4})"
)


def parse_structured(content: bytes, file: FileType) -> Outline:
    """Return a data file (JSON, YAML, TOML, INI) as runs of lines between blank lines, escapes decoded.

    A run too long for a chunk has breaks at its records: lines with the least indentation, and inside a
    record that is long itself the next deeper ones.

    Raises:
        ParseRefused: a line is so long that no citation could point into it (`minified`).
    """
    lines = split_lines(decode(content))
    longest = max(map(len, lines), default=0)
    if longest > MAX_LINE_CHARS:
        raise ParseRefused("minified", f"a line of it has {longest} characters; write one record a line")
    blocks = [data_block(lines, span, file) for span in paragraphs(lines, 1, len(lines))]
    decoded = decode_escapes(lines, file.language)
    return Outline(lines=lines, blocks=blocks) if decoded is None else expand(decoded, blocks)


def parse_log(content: bytes, file: FileType) -> Outline:
    """Return a log as one block, to be cut between records, so that a stack trace stays with its message."""
    lines = split_lines(decode(content))
    if not any(line.strip() for line in lines):
        return Outline(lines=lines, blocks=())
    starts = tuple(number for number in range(2, len(lines) + 1) if LOG_RECORD.match(lines[number - 1]))
    return Outline(
        lines=lines, blocks=(Block(kind="paragraph", span=LineSpan(1, len(lines)), breaks=starts),)
    )


def data_block(lines: Sequence[str], span: LineSpan, file: FileType) -> Block:
    """Return the lines of a span as a block of data, with breaks at its records."""
    has_sections = file.language in WITH_SECTIONS
    breaks = sorted(_breaks(lines, span, has_sections=has_sections))
    return Block(kind="code", span=span, language=file.language, breaks=tuple(breaks))


def _breaks(lines: Sequence[str], span: LineSpan, *, has_sections: bool) -> Iterator[int]:
    """Yield the numbers of the lines at which records, and parts of long records, begin; unordered."""
    waiting = [(span.start, span.end, MAX_DEPTH)]
    while waiting:
        start, end, levels = waiting.pop()
        if not levels or _is_short(lines, start, end):
            continue
        starts = _record_starts(lines, start + 1, end, has_sections=has_sections)
        if not starts:  # nothing but closing brackets behind a long line
            continue
        yield from starts
        ends = [number - 1 for number in [*starts[1:], end + 1]]
        waiting.extend((first, last, levels - 1) for first, last in zip(starts, ends, strict=True))


def _is_short(lines: Sequence[str], start: int, end: int) -> bool:
    size = 0
    for number in range(start, end + 1):
        size += len(lines[number - 1]) + 1
        if size > UNIT_CHARS:
            return start == end
    return True


def _record_starts(lines: Sequence[str], first: int, last: int, *, has_sections: bool) -> list[int]:
    """Return the lines with the least indentation; a comment belongs to the record below it."""
    indents = {
        number: len(line) - len(line.lstrip())
        for number in range(first, last + 1)
        if (line := lines[number - 1]).strip() and not CLOSING.match(line)
    }
    least = min(indents.values(), default=0)
    starts = [number for number, indent in indents.items() if indent == least]
    if has_sections and (sections := [number for number in starts if lines[number - 1].startswith("[")]):
        starts = sections
    begins = _with_comments(lines, first, last)
    return sorted({begins[number - first] for number in starts})


def _with_comments(lines: Sequence[str], first: int, last: int) -> list[int]:
    """Return, for each line from `first` to `last`, the first comment line right above it, else itself."""
    begins: list[int] = []
    comment = 0
    for number in range(first, last + 1):
        begins.append(comment or number)
        comment = begins[-1] if COMMENT.match(lines[number - 1]) else 0
    return begins
