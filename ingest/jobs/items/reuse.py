"""What another version of a source has parsed already: equal bytes at one path are cut the same way."""

from collections.abc import Mapping, Sequence

from ingest.chunking.types import ChunkDraft, chunker_version
from ingest.jobs.items.chunk_size import chunk_tokens_of
from ingest.parsers.registry import is_current
from ingest.sandbox.types import Digest
from search.corpus import Place
from search.corpus.content_ids import document_id
from search.models import Chunk, Document, SourceVersion


def find_twins(places: Sequence[Place]) -> Mapping[str, list[Document]]:
    """Give, by path, the documents that other versions of the places' one source have there."""
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


def twin_digest(place: Place, content_hash: str, twins: Sequence[Document]) -> Digest | None:
    """Return what parsing the content at `place` would, read from a document that nobody described otherwise.

    Tags that its source gave it by default when it was parsed stay with it. None when there is none.
    """
    same = {
        "content_hash": content_hash,
        "chunker_version": chunker_version(chunk_tokens_of(place.workspace)),
        "overrides": {},
    }
    for twin in twins:
        is_same = all(getattr(twin, name) == value for name, value in same.items())
        if is_same and is_current(twin.parser_version, place.path):
            return _digest(twin)
    return None


def _digest(twin: Document) -> Digest | None:
    chunks = tuple(_draft(chunk) for chunk in _chunks(twin))
    if not chunks:
        return None  # it is empty, which is as cheap to parse, or was rewritten since we looked
    return Digest(
        title=twin.title,
        lang=twin.lang,
        tags=tuple(twin.tags),
        mime=twin.mime,
        media=twin.media,
        metadata=twin.metadata,
        parser="",
        parser_version=twin.parser_version,
        chunker_version=twin.chunker_version,
        warnings=(),
        chunks=chunks,
    )


def _chunks(twin: Document) -> Sequence[Chunk]:
    """One statement, so that they are all of the same content, and of that which was looked at."""
    return (
        Chunk.objects.in_workspace(twin.workspace_id)
        .filter(
            document=twin.pk,
            document__workspace=twin.workspace_id,
            document__content_hash=twin.content_hash,
            document__parser_version=twin.parser_version,
            document__chunker_version=twin.chunker_version,
        )
        .order_by("ordinal")
    )


def _draft(chunk: Chunk) -> ChunkDraft:
    return ChunkDraft(
        ordinal=chunk.ordinal,
        kind=chunk.kind,
        language=chunk.language or None,
        heading_path=tuple(chunk.heading_path),
        breadcrumb=chunk.breadcrumb,
        section_label=chunk.section_label,
        text=chunk.text,
        spans=tuple(chunk.source_spans),
        token_count=chunk.token_count,
    )
