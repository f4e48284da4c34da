"""Overview of files and their symbols, from the headings of their chunks.

Parts of a pack as text are independent and white space between them takes no tokens, so that the sizes of the
parts add up to the size of the whole.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from search.access.predicate import chunks_in_scope
from search.access.scope import SearchScope
from search.context.types import ContextPack, OutlinedFile, Overview, PackedDocument, PackedText, Symbol
from search.models import Chunk
from search.retrieval.citation import Citation, citation_from_span
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


#: Most symbols of a file; those with hits and the outermost are preferred.
MAX_SYMBOLS: Final = 12
#: Most chunks that are read of an outlined file.
_MAX_CHUNKS: Final = 200

Headings = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HitFile:
    """A file with hits: its best chunk with the document, its score and the headings of its hits."""

    chunk: Chunk
    score: float
    hit_headings: frozenset[Headings]


def outline_files(
    scope: SearchScope, found: Sequence[HitFile], *, size_of_text: Callable[[str], int], room: int
) -> Overview:
    """Return the overview of `found`, best first, whose text measures at most `room`.

    A file whose symbols don't fit is listed with those that contain hits, else by its path alone.
    """
    outlines = _outlines(scope, [each.chunk.document_id for each in found])
    listed: list[OutlinedFile] = []
    used = size_of_text(OVERVIEW_TITLE + SEPARATOR)
    for each in found:
        for file in _shortened_variants(_outline_file(each, outlines[each.chunk.document_id])):
            size = size_of_text(outline_text(file) + SEPARATOR)
            if used + size <= room:
                listed.append(file)
                used += size
                break
    size = used if listed else 0
    return Overview(files=tuple(listed), left_out=len(found) - len(listed), size=size)


def _shortened_variants(file: OutlinedFile) -> Iterable[OutlinedFile]:
    for symbols in (file.symbols, tuple(each for each in file.symbols if each.has_hit), ()):
        left_out = file.symbols_left_out + len(file.symbols) - len(symbols)
        yield replace(file, symbols=symbols, symbols_left_out=left_out)


@dataclass(slots=True)
class _Outline:
    """The line range of each heading path of a document, and its languages."""

    lines: dict[Headings, tuple[int, int]]
    languages: Counter[str]

    def add(self, headings: Headings, span: Mapping[str, int], language: str) -> None:
        self.languages[language] += 1
        if "start" not in span or "end" not in span:
            return
        for depth in range(1, len(headings) + 1):
            start, end = self.lines.get(headings[:depth], (span["start"], span["end"]))
            self.lines[headings[:depth]] = (min(start, span["start"]), max(end, span["end"]))


def _outlines(scope: SearchScope, document_ids: Sequence[int]) -> Mapping[int, _Outline]:
    rows = (
        chunks_in_scope(scope)
        .filter(document__in=document_ids, ordinal__lt=_MAX_CHUNKS)
        .order_by("document_id", "ordinal", "chunk_id")
        .values_list("document_id", "heading_path", "source_spans", "language")
    )
    outlines: defaultdict[int, _Outline] = defaultdict(lambda: _Outline({}, Counter()))
    for document_id, heading_path, spans, language in rows:
        outlines[document_id].add(tuple(heading_path), spans[0] if spans else {}, language)
    return outlines


def _outline_file(found: HitFile, outline: _Outline) -> OutlinedFile:
    document = found.chunk.document
    chosen = _choose_headings(outline.lines, found.hit_headings)
    return OutlinedFile(
        doc_id=document.doc_id.hex,
        doc_path=document.path,
        source=document.source.key,
        version=document.version.tag or None,
        code_lang=next((language for language, _ in outline.languages.most_common(1)), "") or None,
        score=found.score,
        symbols=tuple(_symbol(document.path, each, outline.lines[each], found) for each in chosen),
        symbols_left_out=len(outline.lines) - len(chosen),
    )


def _choose_headings(lines: Mapping[Headings, tuple[int, int]], hits: Collection[Headings]) -> list[Headings]:
    """Return up to `MAX_SYMBOLS` headings in file order, preferring those with hits, then the outermost."""
    by_place = sorted(lines, key=lambda each: (*lines[each][:1], len(each)))
    chosen = set(sorted(by_place, key=lambda each: (each not in hits, len(each)))[:MAX_SYMBOLS])
    return [each for each in by_place if each in chosen]


def _symbol(path: str, headings: Headings, lines: tuple[int, int], found: HitFile) -> Symbol:
    span = {"kind": "line", "start": lines[0], "end": lines[1]}
    return Symbol(
        heading_path=headings,
        citation=citation_from_span(path, headings[-1], span),
        has_hit=headings in found.hit_headings,
    )
