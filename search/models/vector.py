"""Embedding spaces, and the vector of each chunk in them."""

from typing import Any, Self

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now
from pgvector.django import HalfVectorField

from kebab.tenancy.fields import tenant_key, workspace_key
from search.models.tenant import TenantQuerySet


class PresentTransaction(models.Func):
    """The id of the current transaction, which writes the row."""

    function = "pg_current_xact_id"


class TransactionNumber(models.BigIntegerField):  # type: ignore[type-arg]  # the class itself is not generic
    """A 64-bit transaction id, which unlike a 32-bit one is never reused."""

    def db_type(self, connection: Any) -> str:
        """Return PostgreSQL's type."""
        return "xid8"


class SpaceState(models.TextChoices):
    """States of a space. Only a live space is searched; a retired one is kept complete until `retire_at`."""

    BUILDING = "building"
    LIVE = "live"
    RETIRED = "retired"


class EmbeddingSpaceQuerySet(TenantQuerySet["EmbeddingSpace"]):
    """Embedding spaces, with a filter for their retention."""

    def not_expired(self) -> Self:
        """Filter for spaces that are live, being built, or retired and not expired."""
        return self.filter(~models.Q(state=SpaceState.RETIRED) | models.Q(retire_at__gt=Now()))


class EmbeddingSpace(models.Model):
    """One model at one revision, dimension and prefix, in one workspace."""

    id = models.BigAutoField(primary_key=True)
    workspace = workspace_key()
    model = models.CharField(max_length=200)
    revision = models.CharField(max_length=100)
    dim = models.PositiveIntegerField()
    query_prefix = models.CharField(max_length=200, blank=True, default="")
    passage_prefix = models.CharField(max_length=200, blank=True, default="")
    languages = ArrayField(models.CharField(max_length=16), default=list, blank=True)
    state = models.CharField(max_length=10, choices=SpaceState.choices, default=SpaceState.LIVE)
    # Incremented with every batch of vectors, which change without an entry in the log.
    epoch = models.BigIntegerField(default=0)
    # Share of documents in a language of the model, among those with a known language. Null without any.
    known_share = models.FloatField(null=True, blank=True)
    # Whether it has grown past the exact scan and has its HNSW index.
    is_indexed = models.BooleanField(default=False)
    # Whether it goes live automatically once all chunks have a vector in it.
    switches_by_itself = models.BooleanField(default=True, db_default=True)
    # Reason why it doesn't go live although complete: the result of the golden queries.
    held_because = models.TextField(blank=True, default="", db_default="")
    # Time when it ceased to be live; null if it is live or never was.
    live_until = models.DateTimeField(null=True, blank=True)
    # Time from which a retired space is deleted with its vectors.
    retire_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = EmbeddingSpaceQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("workspace",), condition=models.Q(state="live"), name="space_one_live"
            ),
            models.UniqueConstraint(
                fields=("workspace",), condition=models.Q(state="building"), name="space_one_building"
            ),
            models.UniqueConstraint(
                fields=("workspace", "model", "revision", "dim", "query_prefix", "passage_prefix"),
                name="space_once",
            ),
            models.CheckConstraint(condition=models.Q(state__in=SpaceState.values), name="space_state_known"),
            models.CheckConstraint(
                condition=~models.Q(state="retired") | models.Q(retire_at__isnull=False),
                name="space_retired_has_time",
            ),
        )

    def __str__(self) -> str:
        return f"{self.model}@{self.revision}"


class ChunkVector(models.Model):
    """A chunk's vector, in a narrow row, so that an exact scan reads little. The version id saves a join."""

    pk = models.CompositePrimaryKey("workspace_id", "chunk_id", "space_id")
    workspace = workspace_key()
    space = tenant_key("search.EmbeddingSpace", "vectors")
    chunk_id = models.UUIDField()
    version_id = models.UUIDField()
    embed_hash = models.UUIDField()
    embedding = HalfVectorField()
    # The transaction that wrote it, by which copies of vectors find new rows. Null for old rows.
    written = TransactionNumber(null=True, editable=False, db_default=PresentTransaction())

    objects = TenantQuerySet.as_manager()

    class Meta:
        indexes = (
            models.Index(fields=("workspace", "space", "embed_hash"), name="vector_by_hash"),
            models.Index(fields=("workspace", "space", "written"), name="vector_by_writing"),
        )

    def __str__(self) -> str:
        return f"{self.chunk_id.hex} in space {self.space_id}"
