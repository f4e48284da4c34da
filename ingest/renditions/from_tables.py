"""Parts of a CSV or TSV file: one table, with the lines of its records."""

from collections.abc import Iterator

from ingest.parsers.data.table import find_layout, record_starts
from ingest.parsers.types import Outline
from ingest.renditions import parts
from ingest.renditions.from_blocks import parts_of_blocks
from ingest.renditions.parts import Part

#: Further records are in the source only.
MAX_RECORDS = 20_000


def parts_of_table(outline: Outline) -> Iterator[Part]:
    """Yield the lines above the table, then the table."""
    layout = None if outline.origins else find_layout(outline.lines)  # lines of named cells are no table
    if layout is None or layout.delimiter is None:
        yield from parts_of_blocks(outline)
        return
    above = [line for line in outline.lines[: layout.first - 1] if line.strip()]
    if above:
        yield parts.paragraph([parts.clip(" ".join(above))], 1, layout.first - 1)
    starts = record_starts(outline.lines, layout)
    ends = [*(start - 1 for start in starts[1:]), len(outline.lines)]
    reader = layout.records(outline.lines[layout.first - 1 :])
    rows = [
        parts.row([[parts.clip(cell)] for cell in record], start, end)
        for start, end, record in zip(starts[:MAX_RECORDS], ends, reader, strict=False)
        if record
    ]
    yield from parts.tables(rows, has_header=any(block.kind == "heading" for block in outline.blocks))
