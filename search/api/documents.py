"""Read access to documents, their content and chunks, below `/workspaces/{ws}/documents` and `/chunks`."""

import uuid
from functools import partial
from typing import ClassVar

from django.http import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.http.api.openapi_schema import page_of
from kebab.http.api.serializers import StrictSerializer
from kebab.http.api.views import KeysetPage, PageQuery, WorkspaceView
from kebab.identity.caller import Need
from kebab.identity.models import Role, TokenScope
from search.api.content import CONTENT_RESPONSES, content_response
from search.api.querysets import chunk_in_context, chunks_of, get_document, use_document_bytes
from search.api.serializers import ChunkInContextSerializer, ChunkSerializer, DocumentSerializer

MAX_CONTEXT = 20
READ = Need(role=Role.VIEWER, scope=TokenScope.SEARCH)


class DocumentView(WorkspaceView):
    """One document, read-only; `ingest` adds changing and deleting it at the same URL."""

    required: ClassVar = {"GET": READ}

    @extend_schema(responses=DocumentSerializer)
    def get(self, request: Request, ws: str, doc_id: uuid.UUID) -> Response:
        """Return the document's properties."""
        document = get_document(self.workspace, self.access.reader, doc_id)
        return Response(DocumentSerializer(document).data)


class DocumentContentView(WorkspaceView):
    """The original bytes of a document."""

    required: ClassVar = {"GET": READ}

    @extend_schema(responses=CONTENT_RESPONSES)
    def get(self, request: Request, ws: str, doc_id: uuid.UUID) -> HttpResponseBase:
        """Return the original file, for saving. Its ETag is the document's `content_hash`."""
        respond = partial(content_response, request)
        return use_document_bytes(self.workspace, self.access.reader, doc_id, respond)


class DocumentChunksView(WorkspaceView):
    """The chunks of a document."""

    required: ClassVar = {"GET": READ}
    queries: ClassVar = {"GET": PageQuery}

    @extend_schema(responses=page_of(ChunkSerializer))
    def get(self, request: Request, ws: str, doc_id: uuid.UUID) -> Response:
        """List the chunks in the document's order."""
        page = KeysetPage.from_view(self, ordering=("ordinal", "chunk_id"))
        return page.response(
            chunks_of(self.workspace, self.access.reader, doc_id), lambda row: ChunkSerializer(row).data
        )


class ChunkQuery(StrictSerializer):
    """The parameters of a chunk."""

    context = serializers.IntegerField(  # type: ignore[assignment]  # a declared field, not the base's attribute
        min_value=0, max_value=MAX_CONTEXT, default=0, help_text="Neighbours on each side"
    )


class ChunkView(WorkspaceView):
    """One chunk."""

    required: ClassVar = {"GET": READ}
    queries: ClassVar = {"GET": ChunkQuery}

    @extend_schema(responses=ChunkInContextSerializer)
    def get(self, request: Request, ws: str, chunk_id: uuid.UUID) -> Response:
        """Return the chunk and, on request, the text around it."""
        context = self.query["context"]
        chunk = chunk_in_context(self.workspace, self.access.reader, chunk_id, context)
        return Response(ChunkInContextSerializer(chunk).data)
