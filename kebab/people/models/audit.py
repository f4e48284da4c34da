"""What was done, by whom, when."""

import uuid
from typing import Any, NoReturn

from django.db import models


class AuditIsFinal(Exception):
    """An audit event was to be changed or deleted, which never happens."""


class AuditQuerySet(models.QuerySet["AuditEvent"]):
    """Events, which can be added and read."""

    def update(self, **fields: Any) -> NoReturn:
        """Raises AuditIsFinal."""
        raise AuditIsFinal("Audit events can't be changed.")

    def delete(self) -> NoReturn:
        """Raises AuditIsFinal."""
        raise AuditIsFinal("Audit events can't be deleted.")


class AuditEvent(models.Model):
    """One security-relevant act. Rows are only ever added."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # Outlives the workspace. None: nothing of one workspace, like a sign-in.
    workspace = models.ForeignKey(
        "people.Workspace", models.DO_NOTHING, null=True, db_constraint=False, related_name="+"
    )
    # The actor's address or token prefix as it was then; it outlives the actor.
    actor = models.CharField(max_length=320)
    action = models.CharField(max_length=64)
    subject = models.CharField(max_length=500, blank=True)
    detail = models.JSONField(default=dict, blank=True)
    # Where the request came from; None for the command line and tasks.
    address = models.GenericIPAddressField(null=True, blank=True)
    at = models.DateTimeField(auto_now_add=True)

    objects = AuditQuerySet.as_manager()

    class Meta:
        ordering = ("-at",)
        indexes = (
            models.Index(fields=("workspace", "-at"), name="audit_by_workspace"),
            models.Index(fields=("actor", "-at"), name="audit_by_actor"),
            models.Index(fields=("-at",), name="audit_newest"),
        )

    def __str__(self) -> str:
        return f"{self.at:%F %T} {self.actor} {self.action} {self.subject}"

    def save(self, **options: Any) -> None:
        """Add the event. Raises AuditIsFinal for one that is there already."""
        if not self._state.adding:
            raise AuditIsFinal("Audit events can't be changed.")
        super().save(**{**options, "force_insert": True})

    def delete(self, *_: Any, **__: Any) -> NoReturn:
        """Raises AuditIsFinal."""
        raise AuditIsFinal("Audit events can't be deleted.")
