"""Documents: files or pages of a source, at one version."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Lower, Now
from django.utils.translation import gettext_lazy as _

from kebab.tenancy.fields import tenant_key, workspace_key
from search.documents.omissions import OmissionView, omission_views
from search.models.tenant import TenantQuerySet
from search.retrieval.document_date import MAX_AUTHOR_CHARS

MAX_PATH_CHARS = 1_000
MAX_TITLE_CHARS = 500
_RENDERED = frozenset({"text/html", "application/xhtml+xml"})


class Trust(models.TextChoices):
    """Levels of reliability of a document's text, best first."""

    PRIMARY = "primary", _("Primary")
    SECONDARY = "secondary", _("Secondary")
    GENERATED = "generated", _("Generated")
    UNKNOWN = "unknown", _("Unknown")


class MediaKind(models.TextChoices):
    """Kinds of documents."""

    TEXT = "text"
    CODE = "code"
    PDF = "pdf"
    OFFICE = "office"
    EMAIL = "email"
    IMAGE = "image"
    TRANSCRIPT = "transcript"


class Document(models.Model):
    """A document as last indexed. `doc_id` is the public id; `id` only joins tables."""

    id = models.BigAutoField(primary_key=True)
    workspace = workspace_key()
    doc_id = models.UUIDField(editable=False)
    source = tenant_key("search.Source", "documents")
    version = tenant_key("search.SourceVersion", "documents")
    path = models.CharField(max_length=MAX_PATH_CHARS)
    title = models.CharField(max_length=MAX_TITLE_CHARS)
    # Lower case, in the order of code points, so that a prefix search is a range of this column. Behind
    # row-level security an index can serve ranges of a column only: `lower` and LIKE aren't leakproof.
    title_folded = models.GeneratedField(
        expression=Lower("title"), output_field=models.TextField(db_collation="C"), db_persist=True
    )
    lang = models.CharField(max_length=16, default="und")
    tags = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    trust_level = models.CharField(max_length=10, choices=Trust.choices, default=Trust.UNKNOWN)
    mime = models.CharField(max_length=200)
    media = models.CharField(max_length=10, choices=MediaKind.choices, default=MediaKind.TEXT)
    size_bytes = models.BigIntegerField()
    # BLAKE3 of the bytes, 64 hex digits; also the blob's name.
    content_hash = models.CharField(max_length=64)
    # Values set by a person instead of the parser: title, lang, tags, trust_level, metadata.
    overrides = models.JSONField(default=dict, blank=True)
    parser_version = models.CharField(max_length=64)
    chunker_version = models.CharField(max_length=64)
    # A file of a folder with the same time and size is not read again.
    source_mtime_ns = models.BigIntegerField(null=True, blank=True)
    # The source's revision of this content, a git blob or an ETag; with the same one it is not read again.
    source_revision = models.CharField(max_length=200, blank=True, default="", db_default="")
    # Time of the upload request of this content; earlier requests that arrive late are dropped.
    requested_at = models.DateTimeField(null=True, blank=True)
    indexed_at = models.DateTimeField()
    # The stated date, else the time of the file's or page's last change, else that of indexing. Content that
    # stays keeps it: a copied file has a new time.
    dated_at = models.DateTimeField(db_default=Now())
    # Whether that is another one than that of indexing.
    is_dated = models.BooleanField(db_default=True)
    # As stated; empty for none.
    author = models.CharField(max_length=MAX_AUTHOR_CHARS, blank=True, default="", db_default="")
    metadata = models.JSONField(default=dict, blank=True)
    # Text that its reader left out or could not read: amount and first places by kind.
    omissions = models.JSONField(default=dict, blank=True, db_default={})
    # What filters compare of the metadata: see `search.retrieval.query.metadata`.
    filter_values = models.JSONField(default=dict, blank=True, db_default={})

    objects = TenantQuerySet.as_manager()

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(fields=("workspace", "doc_id"), name="document_id_once"),
            models.CheckConstraint(
                condition=models.Q(trust_level__in=Trust.values), name="document_trust_known"
            ),
            models.CheckConstraint(
                condition=models.Q(media__in=MediaKind.values), name="document_media_known"
            ),
            models.CheckConstraint(
                condition=~models.Q(path="") & ~models.Q(path__startswith="/"), name="document_path_relative"
            ),
        )
        indexes = (
            models.Index(fields=("workspace", "version", "id"), name="document_of_version"),
            models.Index(fields=("workspace", "title_folded"), name="document_by_folded_title"),
            models.Index(fields=("workspace", "dated_at", "id"), name="document_by_date"),
        )

    def __str__(self) -> str:
        return self.path

    @property
    def omission_views(self) -> list[OmissionView]:
        """Return what is not in its text, as it is shown."""
        return omission_views(self.omissions)

    @property
    def is_read_verbatim(self) -> bool:
        """Return whether its indexed text equals its lines; not so for HTML, which is rendered."""
        return self.mime not in _RENDERED
