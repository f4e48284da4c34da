"""Invitations: links that make their recipients members."""

import uuid
from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from kebab.identity.models.workspace import Membership, Role
from kebab.identity.operator_token import OPERATOR_PREFIX


class InvitationState(models.TextChoices):
    """The state of an invitation; only an open one can be accepted."""

    OPEN = "open"
    ACCEPTED = "accepted"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"
    #: The inviter may no longer grant that role, or has left the workspace.
    VOID = "void"


class InvitationQuerySet(models.QuerySet["Invitation"]):
    """Invitations with the data of their state."""

    def with_is_backed(self) -> Self:
        """Annotate each with `is_backed`: whether its inviter may still grant its role."""
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
        """Return the invitations that can be accepted now."""
        fresh = self.filter(accepted_at=None, withdrawn_at=None, expires_at__gt=timezone.now())
        return fresh.with_is_backed().filter(is_backed=True)


class Invitation(models.Model):
    """An offer of membership to an address, valid once until it expires; only the secret's hash is stored."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey(
        "people.Workspace", models.CASCADE, related_name="invitations", db_index=False
    )
    email = models.EmailField()
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.VIEWER)
    # The groups that the new member joins; deleted ones are left out.
    group_ids = ArrayField(models.UUIDField(), default=list, blank=True)
    secret_sha256 = models.BinaryField(max_length=32, unique=True, editable=False)
    # The inviter's address at that time.
    invited_by = models.CharField(max_length=320)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    #: By `with_is_backed`.
    is_backed: bool

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
        """Return the state of an invitation that was queried by `with_is_backed`."""
        if self.accepted_at is not None:
            return InvitationState.ACCEPTED
        if self.withdrawn_at is not None:
            return InvitationState.WITHDRAWN
        if self.expires_at <= timezone.now():
            return InvitationState.EXPIRED
        return InvitationState.OPEN if self.is_backed else InvitationState.VOID
