"""Stored answers, and the documents that they are based on."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models

from kebab.tenancy.fields import tenant_key, workspace_key
from search.models.evaluation import MAX_ACTOR_CHARS
from search.models.tenant import TenantQuerySet


class KeptAnswer(models.Model):
    """An answer with its question, citations and hits; visible to its asker.

    It is deleted with any of its documents. Earlier answers of the same conversation and asker are the
    history of a later one.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = workspace_key()
    conversation_id = models.UUIDField()
    # The caller as the audit log names it, and its identity, which is never reused.
    asked_by = models.CharField(max_length=MAX_ACTOR_CHARS)
    creator = models.CharField(max_length=MAX_ACTOR_CHARS)
    question = models.TextField()
    text = models.TextField(blank=True, default="")
    state = models.CharField(max_length=10)
    reason = models.CharField(max_length=20, blank=True, default="")
    # In the format of `search.answers.types`.
    citations = models.JSONField(default=list, blank=True)
    hits = models.JSONField(default=list, blank=True)
    # Null if no model was called.
    model = models.CharField(max_length=200, null=True, blank=True)  # noqa: DJ001 - none is another thing than ''
    usage = models.JSONField(null=True, blank=True)
    mode = models.CharField(max_length=10)
    index_version = models.CharField(max_length=500)
    seq = models.BigIntegerField()
    lag = models.BigIntegerField()
    took_ms = models.FloatField()
    degraded = ArrayField(models.CharField(max_length=20), default=list, blank=True)
    warnings = models.JSONField(default=list, blank=True)
    created_at = models.DateTimeField()

    objects = TenantQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at", "id")
        indexes = (
            models.Index(fields=("workspace", "-created_at"), name="answer_by_time"),
            models.Index(fields=("workspace", "creator", "-created_at"), name="answer_by_asker"),
            models.Index(fields=("workspace", "conversation_id"), name="answer_by_conversation"),
        )

    def __str__(self) -> str:
        return self.question


class AnswerDocument(models.Model):
    """A document that an answer is based on; a trigger deletes the answer with this row."""

    id = models.BigAutoField(primary_key=True)
    workspace = workspace_key()
    answer = tenant_key("search.KeptAnswer", "documents")
    document = tenant_key("search.Document", "+")

    objects = TenantQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("workspace", "answer", "document"), name="answer_document_once"),
        )
        # For the deletion of documents.
        indexes = (models.Index(fields=("workspace", "document"), name="answer_by_document"),)

    def __str__(self) -> str:
        return f"{self.answer_id} {self.document_id}"
