"""Searches that people have saved."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from kebab.tenancy.fields import tenant_key, workspace_key
from search.models.tenant import TenantQuerySet


class Notify(models.TextChoices):
    """The way in which the owner of a saved search hears of documents that match."""

    NO = "no", _("Don’t notify")
    MAIL = "mail", _("By email")
    WEBHOOK = "webhook", _("By webhook")


class SavedSearch(models.Model):
    """A search that a member runs again, follows as a feed, or has alerts of; it ends with the membership."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = workspace_key()
    membership = tenant_key("people.Membership", "saved_searches")
    name = models.CharField(max_length=200)
    text = models.TextField()
    mode = models.CharField(max_length=10)
    # In the form of `filters_to_json`.
    filters = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)
    # Of the secret in the address of its feed; null: it has none.
    feed_sha256 = models.BinaryField(max_length=32, null=True, unique=True, editable=False)
    notify = models.CharField(max_length=10, choices=Notify.choices, default=Notify.NO)
    # The last change that was looked at for alerts.
    seen_seq = models.BigIntegerField(default=0, editable=False)
    # Documents that the next mail tells of, and when it is due; null: none is.
    unsent = ArrayField(models.UUIDField(), default=list, editable=False)
    mail_due_at = models.DateTimeField(null=True, editable=False)

    objects = TenantQuerySet.as_manager()

    class Meta:
        constraints = (
            models.CheckConstraint(condition=models.Q(notify__in=Notify.values), name="saved_search_notify"),
        )
        indexes = (
            models.Index(fields=("workspace", "membership", "name"), name="saved_search_by_member"),
            models.Index(
                fields=("workspace", "id"),
                condition=~models.Q(notify="no"),
                name="saved_search_with_alert",
            ),
        )

    def __str__(self) -> str:
        return self.name


class AlertDocument(models.Model):
    """A document that a saved search has sent an alert of; the database deletes it with either."""

    id = models.BigAutoField(primary_key=True)
    workspace = workspace_key()
    saved_search = tenant_key("search.SavedSearch", "alert_documents")
    document = tenant_key("search.Document", "+")
    # The folded words around those of the query in its passages, the best passage first.
    passages = ArrayField(models.TextField())

    objects = TenantQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("workspace", "saved_search", "document"), name="alert_document_once"
            ),
        )
        # For the deletion of documents.
        indexes = (models.Index(fields=("workspace", "document"), name="alert_by_document"),)

    def __str__(self) -> str:
        return f"{self.saved_search_id} {self.document_id}"
