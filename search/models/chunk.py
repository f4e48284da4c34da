"""Chunks: contiguous pieces of documents, the unit that is indexed, scored and cited."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from kebab.tenancy.fields import tenant_key, workspace_key
from search.models.tenant import TenantQuerySet
from search.retrieval.citation import Citation, citation_of


class Chunk(models.Model):
    """A chunk. Its id identifies its text; position and breadcrumb may change (`row_version`)."""

    pk = models.CompositePrimaryKey("workspace_id", "chunk_id")
    workspace = workspace_key()
    chunk_id = models.UUIDField(editable=False)
    document = tenant_key("search.Document", "chunks")
    ordinal = models.IntegerField()
    kind = models.CharField(max_length=4, choices=(("code", "code"), ("info", "info")), default="info")
    language = models.CharField(max_length=40, blank=True, default="")
    heading_path = ArrayField(models.TextField(), default=list)
    breadcrumb = models.TextField(blank=True, default="")
    section_label = models.TextField(blank=True, default="")
    text = models.TextField()
    # `text` without markup, for snippets; empty for code, and where a version before 0.4 wrote the chunk.
    plain = models.TextField(blank=True, default="", db_default="", editable=False)
    # [{"kind": "line", "start": 7, "end": 12}, …] in document order.
    source_spans = models.JSONField(default=list)
    token_count = models.IntegerField()
    # Of breadcrumb and text, which is what gets embedded: equal hash, equal vector.
    embed_hash = models.UUIDField()
    row_version = models.IntegerField(default=1)

    #: Neighbours, by `search.api.querysets.chunk_in_context`.
    before: "list[Chunk]"
    after: "list[Chunk]"

    objects = TenantQuerySet.as_manager()

    class Meta:
        constraints = (
            models.CheckConstraint(condition=models.Q(kind__in=("code", "info")), name="chunk_kind_known"),
        )
        indexes = (models.Index(fields=("workspace", "document"), name="chunk_by_document"),)

    def __str__(self) -> str:
        return self.chunk_id.hex

    @property
    def citation(self) -> Citation:
        """Return its citation. Requires the document to be loaded."""
        return citation_of(self.document.path, self.section_label, self.source_spans)
