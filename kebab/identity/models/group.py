"""Groups of a workspace, to which reading of single sources can be restricted."""

import uuid

from django.db import models

from kebab.tenancy.fields import tenant_key


class Group(models.Model):
    """People and tokens of one workspace who may read the sources that are restricted to it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("people.Workspace", models.CASCADE, related_name="groups", db_index=False)
    name = models.CharField(max_length=100)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name",)
        constraints = (models.UniqueConstraint(fields=("workspace", "name"), name="group_name_once"),)

    def __str__(self) -> str:
        return self.name


class GroupMember(models.Model):
    """A workspace member's place in a group; it ends with the membership."""

    workspace = models.ForeignKey("people.Workspace", models.CASCADE, related_name="+", db_index=False)
    group = tenant_key("people.Group", "members")
    membership = tenant_key("people.Membership", "groups")

    class Meta:
        indexes = (models.Index(fields=("workspace", "membership"), name="group_member_by_membership"),)
        constraints = (
            models.UniqueConstraint(fields=("workspace", "group", "membership"), name="group_member_once"),
        )

    def __str__(self) -> str:
        return f"membership {self.membership_id} in group {self.group_id}"


class TokenGroup(models.Model):
    """A token's place in a group, whose restricted sources it may read."""

    workspace = models.ForeignKey("people.Workspace", models.CASCADE, related_name="+", db_index=False)
    group = tenant_key("people.Group", "tokens")
    token = tenant_key("people.ApiToken", "groups")

    class Meta:
        indexes = (models.Index(fields=("workspace", "token"), name="token_group_by_token"),)
        constraints = (
            models.UniqueConstraint(fields=("workspace", "group", "token"), name="token_group_once"),
        )

    def __str__(self) -> str:
        return f"token {self.token_id} in group {self.group_id}"
