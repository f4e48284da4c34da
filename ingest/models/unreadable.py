"""Files that no parser could read; they are retried when they or a parser change."""

from django.db import models

from kebab.tenancy.fields import tenant_key, workspace_key
from search.models.tenant import TenantQuerySet


class Unreadable(models.Model):
    """An unreadable file: refused (no parser reads its kind) or quarantined (every parser died of it)."""

    id = models.BigAutoField(primary_key=True)
    workspace = workspace_key()
    version = tenant_key("search.SourceVersion", "unreadable")
    path = models.CharField(max_length=1000)
    size_bytes = models.BigIntegerField()
    source_mtime_ns = models.BigIntegerField(null=True, blank=True)
    source_revision = models.CharField(max_length=200, blank=True, default="", db_default="")
    content_hash = models.CharField(max_length=64)
    parser_version = models.CharField(max_length=64)
    is_quarantined = models.BooleanField()
    reason = models.CharField(max_length=64)
    detail = models.TextField(blank=True)
    at = models.DateTimeField(auto_now=True)

    objects = TenantQuerySet.as_manager()

    class Meta:
        verbose_name = "unreadable file"
        indexes = (
            models.Index(fields=("-at",), name="unreadable_newest"),
            models.Index(fields=("workspace", "-at"), name="unreadable_by_time"),
        )
        constraints = (
            models.UniqueConstraint(fields=("workspace", "version", "path"), name="unreadable_once"),
        )

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"

    @property
    def state(self) -> str:
        """Return `quarantined` or `refused`."""
        return "quarantined" if self.is_quarantined else "refused"
