"""What was done, by whom, when."""

import uuid

from django.db import models


class AuditEvent(models.Model):
    """One security-relevant act. Rows are only ever added."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("people.Workspace", models.SET_NULL, null=True, related_name="+")
    # The actor's address or token prefix as it was then; it outlives the actor.
    actor = models.CharField(max_length=320)
    action = models.CharField(max_length=64)
    subject = models.CharField(max_length=500, blank=True)
    detail = models.JSONField(default=dict, blank=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-at",)
        indexes = (models.Index(fields=("workspace", "-at"), name="audit_by_workspace"),)

    def __str__(self) -> str:
        return f"{self.at:%F %T} {self.actor} {self.action} {self.subject}"
