"""Reuse of digests between versions of a source: equal bytes at one path give equal chunks."""

from collections.abc import Iterable, Mapping, Sequence

from ingest.chunking.types import ChunkDraft, chunker_version
from ingest.digest.types import Digest
from ingest.jobs.items.chunk_size import chunk_tokens_of
from ingest.parsers.registry import is_current
from ingest.parsers.types import is_media
from search.corpus import DocumentLocation
from search.corpus.content_ids import document_id
from search.models import Chunk, Document, SourceVersion


def find_other_versions(places: Sequence[DocumentLocation]) -> Mapping[str, list[Document]]:
    """Return, by path, the documents of other versions at `places`, which are all of one source."""
    if not places:
        return {}
    first = places[0]
    versions = SourceVersion.objects.in_workspace(first.workspace).filter(source=first.source)
    tags = list(versions.exclude(pk=first.version.pk).values_list("tag", flat=True))
    corpus, key = first.workspace.corpus_id, first.source.key
    wanted = [document_id(corpus, key, tag, place.path) for tag in tags for place in places]
    found: dict[str, list[Document]] = {}
    for document in Document.objects.in_workspace(first.workspace).filter(doc_id__in=wanted):
        found.setdefault(document.path, []).append(document)
    return found


def reusable_digest(
    place: DocumentLocation, content_hash: str, candidates: Sequence[Document]
) -> Digest | None:
    """Return the digest that parsing the content at `place` would give, read from another version's document.

    Only documents without overrides qualify. The default tags that the source had when the document was
    parsed are included. None when no document qualifies.
    """
    same = {
        "content_hash": content_hash,
        "chunker_version": chunker_version(chunk_tokens_of(place.workspace)),
        "overrides": {},
    }
    for document in candidates:
        is_same = all(getattr(document, name) == value for name, value in same.items())
        if is_same and is_current(document.parser_version, place.path):
            return stored_digest(document)
    return None


def stored_digest(document: Document) -> Digest | None:
    """Return the digest that the document was written from; None if it has no chunks or was rewritten."""
    chunks = tuple(_chunk_draft(chunk) for chunk in _document_chunks(document))
    if not chunks or not is_media(document.media):
        return None  # an empty document, which is as cheap to parse, or one rewritten meanwhile
    return Digest(
        title=document.title,
        lang=document.lang,
        tags=tuple(document.tags),
        mime=document.mime,
        media=document.media,
        metadata=document.metadata,
        parser="",
        parser_version=document.parser_version,
        chunker_version=document.chunker_version,
        omissions=document.omissions,
        warnings=(),
        chunks=chunks,
    )


def _document_chunks(document: Document) -> Iterable[Chunk]:
    """Return the chunks; read in one statement, so that all belong to the content that was compared."""
    return (
        Chunk.objects.in_workspace(document.workspace_id)
        .filter(
            document=document.pk,
            document__workspace=document.workspace_id,
            document__content_hash=document.content_hash,
            document__parser_version=document.parser_version,
            document__chunker_version=document.chunker_version,
        )
        .order_by("ordinal")
    )


def _chunk_draft(chunk: Chunk) -> ChunkDraft:
    return ChunkDraft(
        ordinal=chunk.ordinal,
        kind="code" if chunk.kind == "code" else "info",
        language=chunk.language or None,
        heading_path=tuple(chunk.heading_path),
        breadcrumb=chunk.breadcrumb,
        section_label=chunk.section_label,
        text=chunk.text,
        plain=chunk.plain,
        spans=tuple(chunk.source_spans),
        token_count=chunk.token_count,
    )
