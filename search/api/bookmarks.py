"""`/workspaces/{ws}/bookmarks`: the documents that the caller has marked."""

import uuid
from typing import Any, ClassVar

from django.db.models import F
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.database.querysets import first_or_not_found
from kebab.http.api.openapi_schema import page_of
from kebab.http.api.serializers import HexIdField
from kebab.http.api.views import KeysetPage, PageQuery, WorkspaceView
from kebab.identity.caller import Access
from search.access.restrictions import visible_documents
from search.api.saved_searches import OWN
from search.models import Bookmark, Document
from search.models.tenant import TenantQuerySet


def own_bookmarks(access: Access) -> "TenantQuerySet[Bookmark]":
    """Return the caller's bookmarks."""
    return Bookmark.objects.in_workspace(access.workspace).filter(creator=access.identity)


def marked_documents(access: Access) -> Any:
    """Return the documents that the caller has bookmarked and may read, each with `marked_at`."""
    marked = visible_documents(access.workspace, access.reader).filter(bookmarks__creator=access.identity)
    return marked.annotate(marked_at=F("bookmarks__created_at")).select_related("source")


def set_bookmark(access: Access, doc_id: uuid.UUID, *, is_set: bool) -> None:
    """Set or remove the caller's bookmark of a document. Raises NotFound for one that is not visible."""
    workspace = access.workspace
    document = first_or_not_found(visible_documents(workspace, access.reader).filter(doc_id=doc_id))
    if is_set:
        bookmark = Bookmark(workspace=workspace, document=document, creator=access.identity)
        Bookmark.objects.bulk_create([bookmark], ignore_conflicts=True)
    else:
        own_bookmarks(access).filter(document=document).delete()


class BookmarkSerializer(serializers.Serializer[Document]):
    """A bookmark."""

    doc_id = HexIdField()
    title = serializers.CharField()
    path = serializers.CharField()
    source = serializers.CharField(source="source.key")  # type: ignore[assignment]  # a declared field
    marked_at = serializers.DateTimeField()


class BookmarksView(WorkspaceView):
    """The caller's bookmarks."""

    required: ClassVar = {"GET": OWN}
    queries: ClassVar = {"GET": PageQuery}

    @extend_schema(responses=page_of(BookmarkSerializer))
    def get(self, request: Request, ws: str) -> Response:
        """List the bookmarked documents that the caller may read, the latest bookmark first."""
        page = KeysetPage.from_view(self, ordering=("-marked_at", "doc_id"))
        return page.response(marked_documents(self.access), lambda row: BookmarkSerializer(row).data)


class OneBookmarkView(WorkspaceView):
    """The caller's bookmark of a document."""

    required: ClassVar = {"PUT": OWN, "DELETE": OWN}
    with_body: ClassVar = ()

    @extend_schema(request=None, responses={204: None})
    def put(self, request: Request, ws: str, doc_id: uuid.UUID) -> Response:
        """Bookmark the document; one that has a bookmark keeps it."""
        set_bookmark(self.access, doc_id, is_set=True)
        return Response(status=204)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, ws: str, doc_id: uuid.UUID) -> Response:
        """Remove the bookmark of the document, if it has one."""
        set_bookmark(self.access, doc_id, is_set=False)
        return Response(status=204)
