"""Serializers of documents and chunks."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from kebab.http.api.openapi_schema import wire_component
from kebab.http.api.serializers import HexIdField, NullableTextField
from kebab.wire import to_wire
from search.documents.omissions import OMISSION_KINDS, OmissionView
from search.models import Chunk, Document, MediaKind, Trust


class OmissionSerializer(serializers.Serializer[OmissionView]):
    """Text that the reader of a document left out or could not read."""

    kind = serializers.ChoiceField(list(OMISSION_KINDS))
    amount = serializers.IntegerField(min_value=1, help_text="Of its unit.")
    unit = serializers.CharField()
    is_on_purpose = serializers.BooleanField(help_text="False: it could not be read.")
    where = serializers.ListField(
        child=serializers.CharField(), help_text="The first pages, sheets or parts."
    )
    message = serializers.CharField()


class DocumentSerializer(serializers.Serializer[Document]):
    """A document as last indexed."""

    id = HexIdField(source="doc_id")
    path = serializers.CharField()
    title = serializers.CharField()
    source = serializers.CharField(source="source.key")  # type: ignore[assignment]  # a declared field, not the base's attribute
    source_id = serializers.UUIDField()
    version = NullableTextField(
        source="version.tag", help_text="The version's tag; null: the default version."
    )
    lang = serializers.CharField()
    tags = serializers.ListField(child=serializers.CharField())
    trust_level = serializers.ChoiceField(Trust.choices)
    mime = serializers.CharField()
    media = serializers.ChoiceField(MediaKind.choices)
    size_bytes = serializers.IntegerField()
    content_hash = serializers.CharField(help_text="BLAKE3 of its bytes.")
    chunk_count = serializers.IntegerField()
    overrides = serializers.DictField(help_text="What was stated, in the place of what was found in it.")
    metadata = serializers.DictField()
    omissions = OmissionSerializer(
        many=True,
        source="omission_views",
        help_text="What is not in its text; `read_in_part`: much of it was not found.",
    )
    parser_version = serializers.CharField()
    chunker_version = serializers.CharField()
    indexed_at = serializers.DateTimeField()
    date = serializers.DateTimeField(
        source="dated_at", help_text="As stated in it, else of its file's last change or of indexing."
    )
    author = NullableTextField(help_text="As stated in it; null: none is.")


class ChunkSerializer(serializers.Serializer[Chunk]):
    """A chunk with its place in its document."""

    id = HexIdField(source="chunk_id")
    doc_id = HexIdField(source="document.doc_id")
    ordinal = serializers.IntegerField(help_text="Its place among the chunks of the document, from 0.")
    kind = serializers.ChoiceField(["code", "info"])
    code_lang = NullableTextField(source="language")
    heading_path = serializers.ListField(child=serializers.CharField())
    breadcrumb = serializers.CharField()
    section_label = serializers.CharField()
    text = serializers.CharField()
    spans = serializers.ListField(child=serializers.DictField(), source="source_spans")
    citation = serializers.SerializerMethodField()
    token_count = serializers.IntegerField()

    @extend_schema_field(wire_component("citation.v1"))
    def get_citation(self, chunk: Chunk) -> dict[str, Any]:
        """Return the citation of its first span, as in a hit."""
        return to_wire(chunk.citation)


class ChunkInContextSerializer(ChunkSerializer):
    """A chunk with its neighbours."""

    before = ChunkSerializer(many=True, help_text="In the document's order.")
    after = ChunkSerializer(many=True)
