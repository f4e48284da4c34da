"""The indexed state of a document: which of its chunks have reached the indexes derived from Postgres."""

from collections.abc import Sequence
from typing import Any, ClassVar
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.http.api.views import KeysetPage, PageQuery, WorkspaceView
from search.api.documents import READ
from search.api.querysets import chunks_of, get_document
from search.api.serializers import ChunkSerializer, DocumentSerializer
from search.mirror import local_mirrors
from search.mirror.files import MirrorError
from search.models import Chunk, ChunkVector
from search.vectors.spaces import live_space

_MIRRORED = "SELECT c.chunk_id, c.row_version FROM chunks c JOIN documents d USING (doc) WHERE d.doc_id = ?"


class IndexedChunkSerializer(ChunkSerializer):
    """A chunk without its text, and the indexes that have it."""

    text = None  # type: ignore[assignment]  # so REST framework leaves out a field of the base
    is_embedded = serializers.BooleanField(help_text="Whether the live space has its vector.")
    is_mirrored = serializers.BooleanField(help_text="Whether this node's mirror has its present state.")


class MirrorStateSerializer(serializers.Serializer[Any]):
    """The state of this node's mirror."""

    exists = serializers.BooleanField()
    seq = serializers.IntegerField(help_text="The latest change that it has.")
    head_seq = serializers.IntegerField(help_text="The latest change of the workspace.")


class InspectionSerializer(serializers.Serializer[Any]):
    """A document with a page of its chunks."""

    document = DocumentSerializer()
    mirror = MirrorStateSerializer()
    chunks = IndexedChunkSerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True, help_text="Of the next page of chunks.")


class DocumentInspectionView(WorkspaceView):
    """The state of a document in each index."""

    required: ClassVar = {"GET": READ}
    queries: ClassVar = {"GET": PageQuery}

    @extend_schema(responses=InspectionSerializer)
    def get(self, request: Request, ws: str, doc_id: UUID) -> Response:
        """Return the document with its chunks in order, and which of them are embedded and mirrored here."""
        document = get_document(self.workspace, self.access.reader, doc_id)
        page = KeysetPage.from_view(self, ordering=("ordinal", "chunk_id"))
        rows, next_cursor = page.fetch(chunks_of(self.workspace, self.access.reader, doc_id))
        seq, mirrored = self._mirrored(doc_id)
        embedded = self._embedded(rows)
        for row in rows:
            row.is_embedded = row.chunk_id in embedded
            row.is_mirrored = mirrored is not None and mirrored.get(row.chunk_id.hex) == row.row_version
        facts = {
            "document": document,
            "mirror": {
                "exists": mirrored is not None,
                "seq": seq,
                "head_seq": self.workspace.head_seq,
            },
            "chunks": rows,
            "next_cursor": next_cursor,
        }
        return Response(InspectionSerializer(facts).data)

    def _mirrored(self, doc_id: UUID) -> tuple[int, dict[str, int] | None]:
        """Return the mirror's seq and the versions of the document's rows by chunk; None without a mirror."""
        seq = local_mirrors.mirror_seq(self.workspace.pk)
        try:
            file = local_mirrors.mirror_files(self.workspace.pk).current()
            with local_mirrors.reader_pool().reader(file) as reader:
                return seq, dict(reader.execute(_MIRRORED, (doc_id.hex,)))
        except MirrorError:
            return 0, None

    def _embedded(self, chunks: Sequence[Chunk]) -> frozenset[UUID]:
        """Return those of `chunks` that have a vector in the live space."""
        space = live_space(self.workspace)
        if space is None:
            return frozenset()
        ids = [chunk.chunk_id for chunk in chunks]
        vectors = ChunkVector.objects.in_workspace(self.workspace).filter(
            space=space.space_id, chunk_id__in=ids
        )
        return frozenset(vectors.values_list("chunk_id", flat=True))
