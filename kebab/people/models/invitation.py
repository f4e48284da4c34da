"""Invitations: a link that makes whom it was sent to a member."""

import uuid
from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from kebab.people.models.workspace import Membership, Role

#: What begins the name of whoever runs the command line, as `invited_by` and the audit have it.
OPERATOR_PREFIX = "operator:"


class InvitationState(models.TextChoices):
    """Where an invitation stands; only an open one can be accepted."""

    OPEN = "open"
    ACCEPTED = "accepted"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"
    #: Who made it may no longer give that role, or belongs to the workspace no more.
    VOID = "void"


class InvitationQuerySet(models.QuerySet["Invitation"]):
    """Invitations and where they stand."""

    def with_standing(self) -> Self:
        """Say for each whether who made it may still give its role, as `is_backed`."""
        inviters = Membership.objects.filter(
            workspace=models.OuterRef("workspace"),
            user__email=models.OuterRef("invited_by"),
            user__is_active=True,
        )
        low_role = ~models.Q(role=Role.OWNER)
        backed = (
            models.Q(invited_by__startswith=OPERATOR_PREFIX)
            | models.Exists(inviters.filter(role=Role.OWNER))
            | low_role & models.Exists(inviters.filter(role=Role.ADMIN))
        )
        return self.annotate(is_backed=models.Case(models.When(backed, then=True), default=False))

    def open(self) -> Self:
        """Those that can be accepted now."""
        fresh = self.filter(accepted_at=None, withdrawn_at=None, expires_at__gt=timezone.now())
        return fresh.with_standing().filter(is_backed=True)


class Invitation(models.Model):
    """An offer of membership to an address, good once and for a while; only its secret's SHA-256 is kept."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey(
        "people.Workspace", models.CASCADE, related_name="invitations", db_index=False
    )
    email = models.EmailField()
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.VIEWER)
    # The groups that whoever accepts is put into; those deleted meanwhile are left out.
    group_ids = ArrayField(models.UUIDField(), default=list, blank=True)
    secret_sha256 = models.BinaryField(max_length=32, unique=True, editable=False)
    # The address of who invites, as it was then.
    invited_by = models.CharField(max_length=320)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at",)
        indexes = (
            models.Index(fields=("workspace", "-created_at"), name="invitation_by_workspace"),
            models.Index(fields=("email",), name="invitation_by_email"),
        )
        constraints = (
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="invitation_role_known"),
        )

    def __str__(self) -> str:
        return f"{self.email} as {self.role} in {self.workspace_id}"

    @property
    def state(self) -> InvitationState:
        """Return where it stands; it must come from `with_standing`."""
        if self.accepted_at is not None:
            return InvitationState.ACCEPTED
        if self.withdrawn_at is not None:
            return InvitationState.WITHDRAWN
        if self.expires_at <= timezone.now():
            return InvitationState.EXPIRED
        return InvitationState.OPEN if self.is_backed else InvitationState.VOID  # type: ignore[attr-defined]
