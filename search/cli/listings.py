"""Rows of `kebab list` for sources, libraries, documents and embedding spaces."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from kebab.cli.listings import Listing
from kebab.people.models import Group, Workspace
from search.access.restrictions import annotate_readers, readers_of
from search.libraries.library import versions_of
from search.models import Chunk, ChunkVector, Document, EmbeddingSpace, Source, SpaceState

SOURCE_COLUMNS = (
    "key",
    "kind",
    "state",
    "documents",
    "is_restricted",
    "readers",
    "default_trust",
    "default_tags",
    "path",
    "last_indexed_at",
)
DOCUMENT_COLUMNS = ("id", "path", "title", "source", "version", "lang", "tags", "trust_level", "chunks")
LIBRARY_COLUMNS = ("id", "title", "snippets", "trust_score", "versions", "state", "last_indexed_at")
SPACE_COLUMNS = ("model", "revision", "dim", "state", "vectors", "chunks", "is_indexed", "epoch")


def source_rows(workspace: Workspace, limit: int) -> Iterable[dict[str, Any]]:
    """Yield a workspace's sources by key."""
    documents = Document.objects.in_workspace(workspace).filter(source=OuterRef("pk"))
    sources = Source.objects.in_workspace(workspace).annotate(documents_count=_count(documents, "source"))
    names = dict(Group.objects.filter(workspace=workspace).values_list("pk", "name"))
    for source in annotate_readers(sources).order_by("key")[:limit]:
        groups = readers_of(source)
        yield {
            "id": source.pk,
            "key": source.key,
            "kind": source.kind,
            "title": source.title,
            "state": source.state,
            "documents": source.documents_count,
            # Names of groups; None: every member of the workspace.
            "readers": None if groups is None else sorted(names.get(group, str(group)) for group in groups),
            "is_restricted": source.is_restricted,
            "default_trust": source.default_trust,
            "default_tags": source.default_tags,
            "path": source.config.get("path"),
            "last_indexed_at": source.last_indexed_at,
            "created_at": source.created_at,
        }


def library_rows(workspace: Workspace, limit: int) -> Iterable[dict[str, Any]]:
    """Yield a workspace's libraries by id, including those never indexed."""
    sources = list(Source.objects.in_workspace(workspace).order_by("library_id")[:limit])
    versions = versions_of(workspace, sources)
    for source in sources:
        yield {
            "id": source.library_id,
            "source": source.key,
            "title": source.title,
            "description": source.description,
            "snippets": source.total_snippets,
            "trust_score": source.trust_score,
            "versions": [version.tag for version in versions[source.pk]],
            "state": source.state,
            "last_indexed_at": source.last_indexed_at,
        }


def document_rows(workspace: Workspace, limit: int) -> Iterable[dict[str, Any]]:
    """Yield a workspace's documents by source, version and path."""
    chunks = Chunk.objects.in_workspace(workspace).filter(document=OuterRef("pk"))
    documents = Document.objects.in_workspace(workspace).annotate(chunk_count=_count(chunks, "document"))
    ordered = documents.select_related("source", "version").order_by("source__key", "version__tag", "path")
    for document in ordered[:limit]:
        yield {
            "id": document.doc_id.hex,
            "path": document.path,
            "title": document.title,
            "source": document.source.key,
            "version": document.version.tag or None,
            "lang": document.lang,
            "tags": document.tags,
            "trust_level": document.trust_level,
            "media": document.media,
            "size_bytes": document.size_bytes,
            "chunks": document.chunk_count,
            "author": document.author or None,
            "date": document.dated_at,
            "indexed_at": document.indexed_at,
        }


def space_rows(workspace: Workspace, limit: int) -> Iterable[dict[str, Any]]:
    """Yield a workspace's embedding spaces, the live one first, with counts of chunks and vectors."""
    chunks = Chunk.objects.in_workspace(workspace).count()
    spaces = EmbeddingSpace.objects.in_workspace(workspace).order_by("pk")
    for space in sorted(spaces, key=lambda space: space.state != SpaceState.LIVE)[:limit]:
        yield {
            "id": space.pk,
            "model": space.model,
            "revision": space.revision,
            "dim": space.dim,
            "state": space.state,
            "languages": space.languages,
            "vectors": ChunkVector.objects.in_workspace(workspace).filter(space=space.pk).count(),
            "chunks": chunks,
            "is_indexed": space.is_indexed,
            "epoch": space.epoch,
        }


def _count(rows: "QuerySet[Any]", key: str) -> Coalesce:
    """Count the rows for each row of the outer query; a join would count before the limit applies."""
    counted = rows.order_by().values(key).annotate(n=Count("*")).values("n")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


LISTINGS = (
    Listing(kind="sources", columns=SOURCE_COLUMNS, rows=source_rows),
    Listing(kind="libraries", columns=LIBRARY_COLUMNS, rows=library_rows),
    Listing(kind="documents", columns=DOCUMENT_COLUMNS, rows=document_rows),
    Listing(kind="spaces", columns=SPACE_COLUMNS, rows=space_rows),
)
