"""Serializers of workspaces, members and tokens."""

from dataclasses import asdict
from datetime import timedelta
from itertools import islice
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from kebab.contributions import contributions
from kebab.http.api.serializers import ShortListField, StrictSerializer
from kebab.identity.caller import Access
from kebab.identity.models import ApiToken, Role, TokenScope
from kebab.people.groups import MAX_GROUPS
from kebab.people.token_lifecycle import MAX_OVERLAP
from kebab.people.workspace_settings.registry import clean_preferences, preferences
from kebab.people.workspaces import MAX_NAME_CHARS, quota_of

_MAX_SHOWN = 20


class PreferencesField(serializers.DictField):
    """Settings of a workspace by name; null restores the default."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """Return the validated settings. Raises ValidationError, which names the known settings."""
        clean, wrong = clean_preferences(super().to_internal_value(data))
        if wrong:
            # An answer shows no more; sixty thousand took 1.6 s and 70 MB.
            raise serializers.ValidationError(dict(islice(wrong.items(), _MAX_SHOWN)))
        return clean


class QuotaField(serializers.DictField):
    """Limits of a workspace by name; 0 means no limit."""

    child = serializers.IntegerField(min_value=0, allow_null=True)


class NewWorkspace(StrictSerializer):
    """The body that creates a workspace. `create_workspace` checks whether the slug is free."""

    slug = serializers.CharField(max_length=63)
    name = serializers.CharField(max_length=MAX_NAME_CHARS, required=False)
    settings = PreferencesField(required=False)
    owner = serializers.EmailField(
        required=False,
        help_text="For operators: the user who owns it; without it the only operator's account.",
    )


class WorkspaceChange(StrictSerializer):
    """The body that changes a workspace; fields that are left out stay."""

    slug = serializers.CharField(max_length=63, required=False)
    name = serializers.CharField(max_length=MAX_NAME_CHARS, required=False)
    settings = PreferencesField(required=False)
    quota = QuotaField(
        required=False, help_text="For operators: limits to change; null restores the default."
    )
    force = serializers.BooleanField(
        default=False,
        help_text="Whether settings are changed even where golden queries get worse; the audit log has it.",
    )


class WorkspaceSerializer(serializers.Serializer[Access]):
    """A workspace as the caller may see it."""

    id = serializers.UUIDField(source="workspace.id")
    slug = serializers.CharField(source="workspace.slug")
    name = serializers.CharField(source="workspace.name")
    role = serializers.ChoiceField(Role.choices, allow_null=True, help_text="The caller's; null for a token.")
    seq = serializers.IntegerField(source="workspace.head_seq", help_text="The number of the latest change.")
    settings = serializers.SerializerMethodField(help_text="As in force, defaults included.")
    quota = serializers.SerializerMethodField(help_text="The limits in force; 0: no limit.")
    created_at = serializers.DateTimeField(source="workspace.created_at")

    @extend_schema_field(QuotaField)
    def get_quota(self, access: Access) -> dict[str, int]:
        """Return the limits in force."""
        return asdict(quota_of(access.workspace))

    def get_settings(self, access: Access) -> dict[str, Any]:
        """Return the settings in force."""
        return preferences(access.workspace)


class GroupIdsField(ShortListField):
    """Ids of groups of the workspace, without duplicates. The domain checks that they exist."""

    def __init__(self, **options: Any) -> None:
        super().__init__(child=serializers.UUIDField(), max_length=MAX_GROUPS, **options)


class NewMember(StrictSerializer):
    """The body that adds a member."""

    email = serializers.EmailField()
    role = serializers.ChoiceField(Role.choices)


class MemberChange(StrictSerializer):
    """The body that changes a member's role."""

    role = serializers.ChoiceField(Role.choices)


class MemberSerializer(serializers.Serializer[Any]):
    """A member."""

    user_id = serializers.IntegerField()
    email = serializers.EmailField(source="user.email")
    display_name = serializers.CharField(source="user.display_name")
    is_active = serializers.BooleanField(
        source="user.is_active", help_text="False: an operator has deactivated the person, who can't sign in."
    )
    role = serializers.ChoiceField(Role.choices)
    groups = serializers.ListField(child=serializers.UUIDField(), source="group_ids")
    created_at = serializers.DateTimeField()


class NewToken(StrictSerializer):
    """The body that creates a token; without an expiry it works until it is revoked."""

    name = serializers.CharField(max_length=200, required=False, default="")
    scopes = ShortListField(child=serializers.ChoiceField(TokenScope.choices), max_length=len(TokenScope))
    groups = GroupIdsField(required=False, default=list, help_text="Whose restricted sources it may read.")
    filters = serializers.JSONField(
        required=False,
        default=dict,
        help_text="Filters, as a search has them, that narrow each of its searches; it may do nothing else.",
    )
    expires_in_days = serializers.IntegerField(min_value=1, max_value=3650, required=False)
    expires_at = serializers.DateTimeField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return the fields with `expires_at`, which may be None. Raises ValidationError."""
        days = attrs.pop("expires_in_days", None)
        at = attrs.setdefault("expires_at", None)
        if days is not None and at is not None:
            raise serializers.ValidationError("Give expires_in_days or expires_at, not both.")
        if at is not None and at <= timezone.now():
            raise serializers.ValidationError({"expires_at": "This time is past."})
        if days is not None:
            attrs["expires_at"] = timezone.now() + timedelta(days=days)
        if attrs["filters"] != {}:
            if set(attrs["scopes"]) != {TokenScope.SEARCH}:
                raise serializers.ValidationError(
                    {"scopes": "With filters it can have the scope search alone."}
                )
            for read_filters in contributions("filter_readers"):
                attrs["filters"] = read_filters(attrs["filters"])
            if not attrs["filters"]:
                message = "These filters let everything through. Leave them out, or give one a value."
                raise serializers.ValidationError({"filters": message})
        return attrs


class TokenRotation(StrictSerializer):
    """The body that replaces a token."""

    overlap_minutes = serializers.IntegerField(
        min_value=0,
        max_value=int(MAX_OVERLAP.total_seconds() // 60),
        required=False,
        default=0,
        help_text="For how long the old token still works; 0: it is revoked at once.",
    )


class TokenSerializer(serializers.Serializer[ApiToken]):
    """A token without its secret."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    prefix = serializers.CharField(help_text="The token begins with `kbb_` and this.")
    scopes = serializers.ListField(child=serializers.ChoiceField(TokenScope.choices))
    groups = serializers.ListField(child=serializers.UUIDField(), source="group_ids")
    filters = serializers.DictField(help_text="What narrows each of its searches; it may do nothing else.")
    created_by = serializers.EmailField(source="created_by.email", default=None, allow_null=True)
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)


class TokenWithSecretSerializer(TokenSerializer):
    """A new token with its secret, which can't be shown again."""

    token = serializers.CharField(allow_null=True, help_text="Null in an answer repeated by Idempotency-Key.")
