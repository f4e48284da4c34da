"""The indexed and unreadable files of a version, with which a listing is compared."""

from collections.abc import Collection
from dataclasses import dataclass

from ingest.chunking.types import has_chunk_size
from ingest.connectors.types import FoundFile
from ingest.jobs.items.chunk_size import chunk_tokens_of
from ingest.jobs.queue.context import JobContext
from ingest.models import Unreadable
from ingest.parsers.registry import is_current
from search.models import Document, SourceVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedFile:
    """The indexed or unreadable file at a path; an equal file needs no work, also under an older chunker."""

    size_bytes: int
    mtime_ns: int | None
    revision: str
    parser_version: str
    has_current_chunk_size: bool
    #: Outcome of an unreadable file; None for a document.
    outcome: str | None = None
    reason: str = ""

    def is_unchanged(self, file: FoundFile) -> bool:
        """Return whether revision, time and size are equal, and parser and chunk size are current."""
        return (
            (self.revision, self.mtime_ns) == (file.revision, file.mtime_ns)
            and file.size_bytes in (None, self.size_bytes)
            and is_current(self.parser_version, file.path)
            and self.has_current_chunk_size
        )


def indexed_files(
    context: JobContext, version: SourceVersion, only: Collection[str] | None
) -> dict[str, IndexedFile]:
    """Return the indexed and unreadable files of the version, or of the paths `only`."""
    chosen = {} if only is None else {"path__in": only}
    chunk_tokens = chunk_tokens_of(context.workspace)
    documents = Document.objects.in_workspace(context.workspace).filter(version=version, **chosen)
    known = {
        path: IndexedFile(
            size_bytes=size,
            mtime_ns=mtime_ns,
            revision=revision,
            parser_version=parser,
            has_current_chunk_size=has_chunk_size(chunker, chunk_tokens),
        )
        for path, size, mtime_ns, revision, parser, chunker in documents.values_list(
            "path", "size_bytes", "source_mtime_ns", "source_revision", "parser_version", "chunker_version"
        )
    }
    for row in Unreadable.objects.in_workspace(context.workspace).filter(version=version, **chosen):
        known[row.path] = IndexedFile(
            size_bytes=row.size_bytes,
            mtime_ns=row.source_mtime_ns,
            revision=row.source_revision,
            # Files without text become documents now.
            parser_version="" if row.reason in ("no_text", "no_ocr") else row.parser_version,
            has_current_chunk_size=True,
            outcome="failed" if row.is_quarantined else "skipped",
            reason=row.reason,
        )
    return known
