"""Querysets of the sources and documents that a reader may see; to the reader, no others exist."""

from django.db.models import QuerySet

from kebab.identity.models import Workspace
from kebab.identity.reader import Reader
from search.models import Document, Source


def visible_sources(workspace: Workspace, reader: Reader) -> "QuerySet[Source]":
    """Return the sources that `reader` may see."""
    sources: QuerySet[Source] = Source.objects.in_workspace(workspace).readable_by(reader)
    return sources


def visible_documents(workspace: Workspace, reader: Reader) -> "QuerySet[Document]":
    """Return the documents that `reader` may see."""
    documents: QuerySet[Document] = Document.objects.in_workspace(workspace)
    if reader.reads_all:
        return documents
    return documents.filter(source__in=visible_sources(workspace, reader).order_by().values("pk"))
