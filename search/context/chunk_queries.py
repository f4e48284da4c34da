"""Queries of a pack's chunks, documents and lines, under the rights and filters of its search."""

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import BinaryIO, Final

from django.db.models import F, Func, Q, TextField, Value

from search.access.predicate import chunks_in_scope, documents_in_scope
from search.access.scope import SearchScope
from search.context.imports import SOURCE_ROOT, Import
from search.corpus.blobs import open_blob
from search.documents.line_window import read_lines
from search.models import Chunk

# Most candidate paths and folders per query, of all imports of all hits in one source version.
_MAX_CANDIDATES: Final = 5_000
_MAX_DOCUMENTS: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionKey:
    """One version of a source; files import each other within it."""

    source_id: uuid.UUID
    version_id: uuid.UUID

    @classmethod
    def of(cls, chunk: Chunk) -> "VersionKey":
        """Return the source version of the chunk's document."""
        return cls(source_id=chunk.document.source_id, version_id=chunk.document.version_id)


def imported_documents(
    scope: SearchScope, source_version: VersionKey, imports: Sequence[Import]
) -> dict[str, int]:
    """Return the ids of the documents that the imports may refer to, by path, in order; 2,000 at most."""
    candidates = {
        "path": dict.fromkeys(path for each in imports for path in each.paths),
        "folder": dict.fromkeys(folder for each in imports for folder in each.folders),
        "below_root": dict.fromkeys(path for each in imports for path in each.below_roots),
    }
    # Omit conditions without candidates: Postgres would compute their expression for every path.
    conditions = [
        Q(**{f"{name}__any_of": list(each)[:_MAX_CANDIDATES]}) for name, each in candidates.items() if each
    ]
    if not conditions:
        return {}
    rows = (
        documents_in_scope(scope)
        .alias(folder=_strip_pattern("/[^/]*$"), below_root=_strip_pattern(SOURCE_ROOT))
        .filter(reduce(or_, conditions), source=source_version.source_id, version=source_version.version_id)
        .order_by("path")
        .values_list("path", "id")[:_MAX_DOCUMENTS]
    )
    return dict(rows)


def _strip_pattern(pattern: str) -> Func:
    return Func(F("path"), Value(pattern), Value(""), function="regexp_replace", output_field=TextField())


def read_chunks(scope: SearchScope, chunk_ids: Iterable[str]) -> dict[str, Chunk]:
    """Return the visible ones of the chunks by id, with document, source and version."""
    ids = [uuid.UUID(hex=chunk_id) for chunk_id in chunk_ids]
    rows = (
        chunks_in_scope(scope)
        .filter(
            chunk_id__in=ids,
            document__source__workspace=scope.workspace_id,
            document__version__workspace=scope.workspace_id,
        )
        .select_related("document__source", "document__version")
    )
    return {chunk.chunk_id.hex: chunk for chunk in rows}


#: A longer line is not shown whole; its passages are shown instead.
MAX_LINE_CHARS: Final = 4_000
# Ranges closer than this are read together, because each window is another pass over the file.
_WINDOW_GAP: Final = 500

Range = tuple[int, int]


class DocumentLines:
    """Some lines of a document, by number from 1, without lines that are too long or don't exist."""

    def __init__(self, lines: Mapping[int, str]) -> None:
        self._lines = lines

    def text(self, start: int, end: int) -> str | None:
        """Return the lines from `start` to `end`, joined by line feeds; None when one is missing."""
        # Check both ends first, so that a range of a million missing lines isn't iterated.
        if start not in self._lines or end not in self._lines:
            return None
        numbers = range(start, end + 1)
        if not all(number in self._lines for number in numbers):
            return None
        return "\n".join(self._lines[number] for number in numbers)

    def is_blank(self, start: int, end: int) -> bool:
        """Return whether all lines from `start` to `end` are known and blank; true for an empty range."""
        return all(not self._lines.get(number, "?").strip() for number in range(start, end + 1))


def read_document_lines(workspace_id: uuid.UUID, hash_: str, ranges: Iterable[Range]) -> DocumentLines:
    """Read these ranges of lines, and possibly lines between them, from the blob with this hash.

    Returns no lines if the blob is gone, as when the document is being replaced concurrently.
    """
    try:
        with open_blob(workspace_id, hash_) as content:
            return DocumentLines(dict(_read_windows(content, ranges)))
    except FileNotFoundError:
        return DocumentLines({})


def _read_windows(content: BinaryIO, ranges: Iterable[Range]) -> Iterator[tuple[int, str]]:
    for first, last in _merge_ranges(ranges):
        content.seek(0)
        window = read_lines(content, first=first, count=last - first + 1, max_line_chars=MAX_LINE_CHARS)
        yield from ((line.number, line.text) for line in window.lines if not line.is_cut)


def _merge_ranges(ranges: Iterable[Range]) -> list[Range]:
    windows: list[Range] = []
    for first, last in sorted(ranges):
        if windows and first <= windows[-1][1] + _WINDOW_GAP:
            windows[-1] = (windows[-1][0], max(windows[-1][1], last))
        else:
            windows.append((first, last))
    return windows
