"""Context packs as text for agents: the overview, then each segment below the citation of its lines.

Parts are independent and white space between them takes no tokens, so that the sizes of the parts add up to
the size of the whole.
"""

from typing import Final

from search.context.types import ContextPack, OutlinedFile, PackedDocument, PackedText, Symbol
from search.retrieval.citation import Citation
from search.retrieval.text.fences import put_in_fence

NOTHING_FOUND: Final = "Nothing was found for this request."
SEPARATOR: Final = "\n\n"
OVERVIEW_TITLE: Final = "## Overview"


def pack_text(pack: ContextPack) -> str:
    """Return the text of the pack: overview and segments, best file first, separated by blank lines."""
    outlined = pack.overview.files if pack.overview is not None else ()
    overview = [OVERVIEW_TITLE, *map(outline_text, outlined)] if outlined else []
    blocks = [segment_text(file, segment) for file in pack.files for segment in file.segments]
    return SEPARATOR.join([*overview, *blocks]) or NOTHING_FOUND


def outline_text(file: OutlinedFile) -> str:
    """Return the file's path with its language, source and version, and a line for each of its symbols."""
    origin = " ".join(filter(None, (file.code_lang, f"in {file.source}", file.version)))
    more = [f"  … {file.symbols_left_out} more"] if file.symbols_left_out else []
    return "\n".join([f"{_line(file.doc_path)} ({origin})", *map(_symbol_text, file.symbols), *more])


def segment_text(file: PackedDocument, segment: PackedText) -> str:
    """Return the block of a segment, as formatted by `block_text`."""
    return block_text(segment.citation, segment.text, file.source, file.version, segment.code_lang)


def block_text(citation: Citation, text: str, source: str, version: str | None, code_lang: str | None) -> str:
    """Return a text below its citation, in a fence longer than any within the text."""
    origin = " ".join(filter(None, (source, version)))
    return f"### {_line(citation.uri)} ({origin})\n{put_in_fence(text, code_lang or '')}"


def _symbol_text(symbol: Symbol) -> str:
    cited = symbol.citation
    lines = f"{cited.start}-{cited.end} " if cited.start is not None else ""
    return f"  {lines}{_line(' > '.join(symbol.heading_path))}"


def _line(text: str) -> str:
    return " ".join(text.split())
