"""Documents that people have bookmarked."""

from django.db import models

from kebab.tenancy.fields import tenant_key, workspace_key
from search.models.evaluation import MAX_ACTOR_CHARS
from search.models.tenant import TenantQuerySet


class Bookmark(models.Model):
    """A document that a caller wants to find again; the database deletes it with the document."""

    id = models.BigAutoField(primary_key=True)
    workspace = workspace_key()
    document = tenant_key("search.Document", "bookmarks")
    # The identity of the caller, which is never reused.
    creator = models.CharField(max_length=MAX_ACTOR_CHARS)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TenantQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("workspace", "creator", "document"), name="bookmark_once"),
        )
        # For the deletion of documents.
        indexes = (models.Index(fields=("workspace", "document"), name="bookmark_by_document"),)

    def __str__(self) -> str:
        return f"{self.creator} {self.document_id}"
