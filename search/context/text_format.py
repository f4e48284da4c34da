"""A context pack as text for agents: the overview, then each segment below the citation of its lines.

Every part stands by itself and white space between two counts for nothing in tokens, so that what the parts
measure is what the whole does.
"""

import re
from typing import Final

from search.context.types import ContextPack, OutlinedFile, PackedDocument, PackedText, Symbol
from search.retrieval.citation import Citation

NOTHING_FOUND: Final = "Nothing was found for this request."
SEPARATOR: Final = "\n\n"
OVERVIEW_TITLE: Final = "## Overview"
_BACKTICKS = re.compile("`{3,}")


def pack_text(pack: ContextPack) -> str:
    """Return the pack's overview and its segments, best file first, a blank line between two."""
    outlined = pack.overview.files if pack.overview is not None else ()
    overview = [OVERVIEW_TITLE, *map(outline_text, outlined)] if outlined else []
    blocks = [packed_text(file, segment) for file in pack.files for segment in file.segments]
    return SEPARATOR.join([*overview, *blocks]) or NOTHING_FOUND


def outline_text(file: OutlinedFile) -> str:
    """Return the file's path with what it is of, and a line for each of its symbols."""
    what = " ".join(filter(None, (file.code_lang, f"in {file.source}", file.version)))
    more = [f"  … {file.symbols_left_out} more"] if file.symbols_left_out else []
    return "\n".join([f"{_line(file.doc_path)} ({what})", *map(_symbol_text, file.symbols), *more])


def packed_text(file: PackedDocument, segment: PackedText) -> str:
    """Return a segment as `block_text` writes it."""
    return block_text(segment.citation, segment.text, file.source, file.version, segment.code_lang)


def block_text(citation: Citation, text: str, source: str, version: str | None, code_lang: str | None) -> str:
    """Return cited text below its citation, in a fence that nothing in it closes."""
    longest = max((len(marks) for marks in _BACKTICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    place = " ".join(filter(None, (source, version)))
    return f"### {_line(citation.uri)} ({place})\n{fence}{code_lang or ''}\n{text}\n{fence}"


def _symbol_text(symbol: Symbol) -> str:
    cited = symbol.citation
    lines = f"{cited.start}-{cited.end} " if cited.start is not None else ""
    return f"  {lines}{_line(' > '.join(symbol.heading_path))}"


def _line(text: str) -> str:
    return " ".join(text.split())
