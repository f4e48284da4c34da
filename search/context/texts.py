"""Texts of segments: the file's own lines if they are cited by line, else the texts of their chunks."""

import uuid
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from search.context.lines import DocumentLines, Range, read_document_lines
from search.models import Chunk
from search.retrieval.citation import Citation
from search.retrieval.expansion import ReachedChunk
from search.retrieval.packing import Passage, Segment


class SegmentTexts:
    """The texts of one pack's segments; each document's lines are read once."""

    def __init__(self, workspace_id: uuid.UUID, chunks: Mapping[str, Chunk]) -> None:
        self._chunks = chunks
        self._lines = _lines_of_documents(workspace_id, chunks)
        self._verbatim = {chunk_id for chunk_id, chunk in chunks.items() if self._matches_cited_lines(chunk)}

    def passage(self, reached: ReachedChunk) -> Passage:
        """Return the chunk as a passage; its citation includes the heading lines right above its text."""
        chunk = self._chunks[reached.chunk_id]
        citation = chunk.citation
        if reached.chunk_id in self._verbatim:
            citation = self._with_headings(chunk, citation)
        return Passage(
            chunk_id=reached.chunk_id,
            doc_id=chunk.document.doc_id.hex,
            citation=citation,
            score=reached.score,
            ordinal=chunk.ordinal,
        )

    def is_blank(self, doc_id: str, start: int, end: int) -> bool:
        """Return whether these lines of a document are blank; unknown lines are not."""
        return self._lines[doc_id].is_blank(start, end)

    def is_verbatim(self, segment: Segment) -> bool:
        """Return whether the segment's text is exactly the lines that it cites."""
        return self._cited_lines(segment) is not None

    def text(self, segment: Segment) -> str:
        """Return the cited lines, or the chunks' texts if it isn't cited by line or has too long a line."""
        lines = self._cited_lines(segment)
        if lines is not None:
            return lines
        return "\n".join(self._chunks[passage.chunk_id].text for passage in segment.passages)

    def _cited_lines(self, segment: Segment) -> str | None:
        cited = segment.citation
        are_lines = all(passage.chunk_id in self._verbatim for passage in segment.passages)
        if not are_lines or cited.start is None or cited.end is None:
            return None
        return self._lines[segment.doc_id].text(cited.start, cited.end)

    def _matches_cited_lines(self, chunk: Chunk) -> bool:
        cited = chunk.citation
        if cited.start is None or cited.end is None:
            return False
        text = self._lines[chunk.document.doc_id.hex].text(cited.start, cited.end)
        return text is not None and chunk.text in text

    def _with_headings(self, chunk: Chunk, citation: Citation) -> Citation:
        start = citation.start or 1
        lines = self._lines[chunk.document.doc_id.hex]
        for first, last in sorted(_line_ranges(chunk), reverse=True):
            if last < start and (last + 1 == start or lines.is_blank(last + 1, start - 1)):
                start = first
        return replace(citation, start=start)


def _line_ranges(chunk: Chunk) -> list[Range]:
    return [(span["start"], span["end"]) for span in chunk.source_spans if span.get("kind") == "line"]


def _lines_of_documents(workspace_id: uuid.UUID, chunks: Mapping[str, Chunk]) -> Mapping[str, DocumentLines]:
    ranges: defaultdict[tuple[str, str], list[Range]] = defaultdict(list)
    for chunk in chunks.values():
        if chunk.document.is_read_verbatim:
            ranges[chunk.document.doc_id.hex, chunk.document.content_hash] += _line_ranges(chunk)
    lines = {
        doc_id: read_document_lines(workspace_id, hash_, wanted)
        for (doc_id, hash_), wanted in ranges.items()
        if wanted
    }
    return defaultdict(lambda: DocumentLines({}), lines)
