"""Files and what is in them, from the headings of their chunks: an overview before the text."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from search.access.scope import Scope
from search.context.chunk_queries import standing_chunks
from search.context.text_format import OVERVIEW_TITLE, SEPARATOR, outline_text
from search.context.types import OutlinedFile, Overview, Symbol
from search.models import Chunk
from search.retrieval.citation import citation_from_span

#: Of a file; where it has more, what was found and the outermost stand for the others.
MAX_SYMBOLS: Final = 12
#: Of a file that is outlined at most so many chunks are read.
_MAX_CHUNKS: Final = 200

Headings = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """A file that was found: one of its chunks, with its document, its score and the headings of its hits."""

    chunk: Chunk
    score: float
    hit_headings: frozenset[Headings]


def outline_files(
    scope: Scope, found: Sequence[FoundFile], *, size_of_text: Callable[[str], int], room: int
) -> Overview:
    """Return the overview of `found`, best first, of which the text measures no more than `room`.

    A file for whose symbols there is no room is listed with those that hold hits, else by its path.
    """
    outlines = _outlines(scope, [each.chunk.document_id for each in found])
    listed: list[OutlinedFile] = []
    used = size_of_text(OVERVIEW_TITLE + SEPARATOR)
    for each in found:
        for file in _shorter_and_shorter(_outlined(each, outlines[each.chunk.document_id])):
            size = size_of_text(outline_text(file) + SEPARATOR)
            if used + size <= room:
                listed.append(file)
                used += size
                break
    size = used if listed else 0
    return Overview(files=tuple(listed), left_out=len(found) - len(listed), size=size)


def _shorter_and_shorter(file: OutlinedFile) -> Iterable[OutlinedFile]:
    for symbols in (file.symbols, tuple(each for each in file.symbols if each.has_hit), ()):
        left_out = file.symbols_left_out + len(file.symbols) - len(symbols)
        yield replace(file, symbols=symbols, symbols_left_out=left_out)


@dataclass(slots=True)
class _Outline:
    """The lines of each heading path of a document, by where it begins."""

    lines: dict[Headings, tuple[int, int]]
    languages: Counter[str]

    def add(self, headings: Headings, span: Mapping[str, int], language: str) -> None:
        self.languages[language] += 1
        if "start" not in span or "end" not in span:
            return
        for depth in range(1, len(headings) + 1):
            start, end = self.lines.get(headings[:depth], (span["start"], span["end"]))
            self.lines[headings[:depth]] = (min(start, span["start"]), max(end, span["end"]))


def _outlines(scope: Scope, document_ids: Sequence[int]) -> Mapping[int, _Outline]:
    rows = (
        standing_chunks(scope)
        .filter(document__in=document_ids, ordinal__lt=_MAX_CHUNKS)
        .order_by("document_id", "ordinal", "chunk_id")
        .values_list("document_id", "heading_path", "source_spans", "language")
    )
    outlines: defaultdict[int, _Outline] = defaultdict(lambda: _Outline({}, Counter()))
    for document_id, heading_path, spans, language in rows:
        outlines[document_id].add(tuple(heading_path), spans[0] if spans else {}, language)
    return outlines


def _outlined(found: FoundFile, outline: _Outline) -> OutlinedFile:
    document = found.chunk.document
    kept = _kept(outline.lines, found.hit_headings)
    return OutlinedFile(
        doc_id=document.doc_id.hex,
        doc_path=document.path,
        source=document.source.key,
        version=document.version.tag or None,
        code_lang=next((language for language, _ in outline.languages.most_common(1)), "") or None,
        score=found.score,
        symbols=tuple(_symbol(document.path, each, outline.lines[each], found) for each in kept),
        symbols_left_out=len(outline.lines) - len(kept),
    )


def _kept(lines: Mapping[Headings, tuple[int, int]], hits: Collection[Headings]) -> list[Headings]:
    """Return those that are listed, in file order: with hits first chosen, then the outermost."""
    by_place = sorted(lines, key=lambda each: (*lines[each][:1], len(each)))
    chosen = set(sorted(by_place, key=lambda each: (each not in hits, len(each)))[:MAX_SYMBOLS])
    return [each for each in by_place if each in chosen]


def _symbol(path: str, headings: Headings, lines: tuple[int, int], found: FoundFile) -> Symbol:
    span = {"kind": "line", "start": lines[0], "end": lines[1]}
    return Symbol(
        heading_path=headings,
        citation=citation_from_span(path, headings[-1], span),
        has_hit=headings in found.hit_headings,
    )
