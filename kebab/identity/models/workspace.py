"""Workspaces, which are the tenants, and their memberships."""

import re
import uuid

from django.core.validators import RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

_SLUG_PATTERN = r"\A[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\Z"
SLUG = RegexValidator(
    _SLUG_PATTERN,
    "Use 1 to 63 lower-case letters, digits and inner hyphens.",
    code="invalid_slug",
)


def is_slug(text: str) -> bool:
    """Return whether `text` can be a slug."""
    return re.match(_SLUG_PATTERN, text) is not None


class Role(models.TextChoices):
    """The role of a member; each includes the rights of the lower ones."""

    OWNER = "owner", _("Owner")
    ADMIN = "admin", _("Admin")
    EDITOR = "editor", _("Editor")
    VIEWER = "viewer", _("Viewer")

    @property
    def level(self) -> int:
        """Return 1 for viewer to 4 for owner."""
        return {"viewer": 1, "editor": 2, "admin": 3, "owner": 4}[self.value]


class WorkspaceQuerySet(models.QuerySet["Workspace"]):
    """Workspaces by slug or id."""

    def by_slug_or_id(self, slug_or_id: str) -> "WorkspaceQuerySet":
        """Return the workspace with this slug or this UUID; none or one."""
        try:
            return self.filter(models.Q(slug=slug_or_id) | models.Q(id=uuid.UUID(slug_or_id)))
        except ValueError:
            return self.filter(slug=slug_or_id)


class Workspace(models.Model):
    """The tenant: members, sources, documents, settings, one change log, one mirror file on each node."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    slug = models.CharField(max_length=63, unique=True, validators=[SLUG])
    name = models.CharField(max_length=200)
    # Part of every document and chunk id; it is exported, so that an import creates equal ids.
    corpus_id = models.UUIDField(default=uuid.uuid4, editable=False)
    settings = models.JSONField(default=dict, blank=True)
    # The operator's limits for it, where they differ from the defaults of the settings.
    quota = models.JSONField(
        default=dict, db_default=models.Value({}, models.JSONField()), blank=True, editable=False
    )
    # The number of the latest change. Writers raise it under this row's lock, last in their transaction.
    head_seq = models.BigIntegerField(default=0, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = WorkspaceQuerySet.as_manager()

    class Meta:
        ordering = ("slug",)
        constraints = (models.CheckConstraint(condition=models.Q(head_seq__gte=0), name="head_seq_positive"),)

    def __str__(self) -> str:
        return self.slug


class Membership(models.Model):
    """One person's role in one workspace."""

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="memberships", db_index=False)
    user = models.ForeignKey("people.User", models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.VIEWER)
    created_at = models.DateTimeField(auto_now_add=True)

    #: By `kebab.identity.caller.with_group_ids`.
    group_ids: list[uuid.UUID]

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("workspace", "user"), name="membership_once"),
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="membership_role_known"),
        )

    def __str__(self) -> str:
        return f"{self.user.email} is {self.role} of {self.workspace}"
