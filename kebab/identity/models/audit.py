"""The audit event: an action, its actor and its time. Rows are append-only."""

import uuid
from typing import Any, NoReturn

from django.db import models


class ImmutableAuditError(Exception):
    """Raised by an attempt to change or delete an audit event."""


class AuditQuerySet(models.QuerySet["AuditEvent"]):
    """Audit events, which can be added and read only."""

    def update(self, **fields: Any) -> NoReturn:
        """Raise ImmutableAuditError."""
        raise ImmutableAuditError("Audit events can't be changed.")

    def delete(self) -> NoReturn:
        """Raise ImmutableAuditError."""
        raise ImmutableAuditError("Audit events can't be deleted.")


class AuditEvent(models.Model):
    """One security-relevant action. Rows are only ever added."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # The event outlives the workspace. None: not about one workspace, like a sign-in.
    workspace = models.ForeignKey(
        "people.Workspace", models.DO_NOTHING, null=True, db_constraint=False, related_name="+"
    )
    # The actor's address or token prefix at that time; it outlives the actor.
    actor = models.CharField(max_length=320)
    action = models.CharField(max_length=64)
    subject = models.CharField(max_length=500, blank=True)
    detail = models.JSONField(default=dict, blank=True)
    # The client address of the request; None for the command line and tasks.
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
        """Add the event. Raises ImmutableAuditError if it is stored already."""
        if not self._state.adding:
            raise ImmutableAuditError("Audit events can't be changed.")
        super().save(**{**options, "force_insert": True})

    def delete(self, *_: Any, **__: Any) -> NoReturn:
        """Raise ImmutableAuditError."""
        raise ImmutableAuditError("Audit events can't be deleted.")
