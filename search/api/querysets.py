"""Querysets of the documents and chunks that a caller may read, with all rows that the API serialises."""

import uuid
from collections.abc import Callable
from typing import Any, TypeVar

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.shortcuts import get_object_or_404

from kebab.errors import NotFound
from kebab.identity.models import Workspace
from kebab.identity.reader import Reader
from search.access.restrictions import visible_documents
from search.models import Chunk, Document

T = TypeVar("T")


def readable_documents(workspace: Workspace, reader: Reader) -> Any:
    """Return the queryset of documents, source and version loaded, each with its `chunk_count`."""
    chunks = Chunk.objects.in_workspace(workspace).filter(document=OuterRef("pk")).order_by()
    count = chunks.values("document").annotate(count=Count("*")).values("count")
    return (
        visible_documents(workspace, reader)
        .filter(source__workspace=workspace.pk, version__workspace=workspace.pk)
        .select_related("source", "version")
        .annotate(chunk_count=Coalesce(Subquery(count), 0))
    )


def get_document(workspace: Workspace, reader: Reader, doc_id: uuid.UUID) -> Document:
    """Return the document with all that the API serialises. Raises Http404."""
    document: Document = get_object_or_404(readable_documents(workspace, reader), doc_id=doc_id)
    return document


def use_document_bytes(
    workspace: Workspace, reader: Reader, doc_id: uuid.UUID, use: Callable[[Document], T]
) -> T:
    """Return `use(document)`; `use` opens the bytes and raises FileNotFoundError if they are gone.

    Raises Http404, and NotFound when the bytes aren't stored.
    """
    missed = ""
    while True:
        document: Document = get_object_or_404(visible_documents(workspace, reader), doc_id=doc_id)
        try:
            return use(document)
        except FileNotFoundError as error:
            # A document replaced since the row was read has a new hash; retry with its new bytes.
            if document.content_hash == missed:
                raise NotFound from error
            missed = document.content_hash


def chunks_of(workspace: Workspace, reader: Reader, doc_id: uuid.UUID) -> "QuerySet[Chunk]":
    """Return the queryset of a document's chunks. Raises Http404."""
    document = get_object_or_404(visible_documents(workspace, reader), doc_id=doc_id)
    return _with_document(workspace).filter(document=document)


def chunk_in_context(workspace: Workspace, reader: Reader, chunk_id: uuid.UUID, context: int) -> Chunk:
    """Return the chunk; its `before` and `after` are up to `context` neighbours in order. Raises Http404."""
    readable = _with_document(workspace).filter(document__in=visible_documents(workspace, reader))
    chunk = get_object_or_404(readable, chunk_id=chunk_id)
    first, last = chunk.ordinal - context, chunk.ordinal + context
    neighbours = _with_document(workspace).filter(document=chunk.document, ordinal__range=(first, last))
    rows = list(neighbours.exclude(chunk_id=chunk_id).order_by("ordinal", "chunk_id")) if context else []
    chunk.before = [row for row in rows if row.ordinal < chunk.ordinal]
    chunk.after = [row for row in rows if row.ordinal > chunk.ordinal]
    return chunk


def _with_document(workspace: Workspace) -> "QuerySet[Chunk]":
    chunks = Chunk.objects.in_workspace(workspace).filter(document__workspace=workspace.pk)
    return chunks.select_related("document")
