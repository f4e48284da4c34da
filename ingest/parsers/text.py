"""Plain text as paragraphs between blank lines. Also the last rung of every ladder."""

from collections.abc import Iterator, Sequence

from ingest.parsers.decode import decode, split_lines
from ingest.parsers.types import Block, FileType, LineSpan, Outline


def parse_text(content: bytes, file: FileType) -> Outline:
    """Return a text file as one block, to be cut between its paragraphs.

    One block, because a file of 100 MB has millions of paragraphs.
    """
    lines = split_lines(decode(content))
    starts = tuple(
        number
        for number in range(2, len(lines) + 1)
        if lines[number - 1].strip() and not lines[number - 2].strip()
    )
    if not starts and not any(line.strip() for line in lines):
        return Outline(lines=lines, blocks=())
    return Outline(
        lines=lines, blocks=(Block(kind="paragraph", span=LineSpan(1, len(lines)), breaks=starts),)
    )


def paragraphs(lines: Sequence[str], first: int, last: int) -> Iterator[LineSpan]:
    """Yield the runs of non-blank lines among lines `first` to `last`, in order."""
    start = 0
    for number in range(first, last + 1):
        if lines[number - 1].strip():
            start = start or number
        elif start:
            yield LineSpan(start, number - 1)
            start = 0
    if start:
        yield LineSpan(start, last)
