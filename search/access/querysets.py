"""Which sources and documents of a workspace there are for a reader: what one may not read does not exist."""

from django.db.models import QuerySet

from kebab.people.models import Workspace
from kebab.people.reader import Reader
from search.models import Document, Source


def sources_of(workspace: Workspace, reader: Reader) -> "QuerySet[Source]":
    """Return the queryset of sources that `reader` may know of."""
    sources: QuerySet[Source] = Source.objects.in_workspace(workspace).readable_by(reader)
    return sources


def documents_of(workspace: Workspace, reader: Reader) -> "QuerySet[Document]":
    """Return the queryset of documents that `reader` may know of."""
    documents: QuerySet[Document] = Document.objects.in_workspace(workspace)
    if reader.reads_all:
        return documents
    return documents.filter(source__in=sources_of(workspace, reader).order_by().values("pk"))
