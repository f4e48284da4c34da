"""`/workspaces/{ws}/tokens`: API tokens for tools."""

import uuid
from datetime import timedelta
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.contributions import contributions
from kebab.http.api.idempotency import idempotent
from kebab.http.api.openapi_schema import page_of
from kebab.http.api.serializers import ShortListField, StrictSerializer, strict_body
from kebab.http.api.views import KeysetPage, PageQuery, WorkspaceView
from kebab.identity.caller import ADMINS
from kebab.identity.models import ApiToken, TokenScope
from kebab.identity.tokens import with_token_groups
from kebab.people.api.members import GroupIdsField
from kebab.people.token_lifecycle import (
    MAX_OVERLAP,
    issue_administration_token,
    issue_token,
    revoke_token,
    rotate_token,
)


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
    owner = serializers.EmailField(
        required=False,
        default="",
        help_text="For operators: the owner of the workspace for whom a token with `administer` acts here.",
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
        owner = attrs.pop("owner")
        if TokenScope.ADMINISTER in attrs["scopes"]:
            if any([attrs.pop("groups"), attrs.pop("filters")]):
                message = "With the scope administer it has neither groups nor filters."
                raise serializers.ValidationError({"scopes": message})
            return {**attrs, "owner": owner}
        if owner:
            raise serializers.ValidationError({"owner": "It takes the scope administer."})
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


class TokensView(WorkspaceView):
    """The tokens of a workspace."""

    required: ClassVar = {"GET": ADMINS, "POST": ADMINS}
    queries: ClassVar = {"GET": PageQuery}

    @extend_schema(responses=page_of(TokenSerializer))
    def get(self, request: Request, ws: str) -> Response:
        """List the tokens, newest first, revoked ones too."""
        page = KeysetPage.from_view(self, ordering=("-created_at", "id"))
        return page.response(_tokens(self), lambda row: TokenSerializer(row).data)

    @extend_schema(request=NewToken, responses={201: TokenWithSecretSerializer})
    @idempotent(recheck=None, withhold=("token",))
    def post(self, request: Request, ws: str) -> Response:
        """Create a token. Its secret is in this answer only.

        One with the scope `administer` is a personal one of an owner: they create it on their profile page,
        or an operator does, who names them as `owner`.
        """
        fields = strict_body(request, NewToken)
        issue = issue_administration_token if TokenScope.ADMINISTER in fields["scopes"] else issue_token
        return _with_secret(*issue(self.access, **fields))


class OneTokenView(WorkspaceView):
    """One token of a workspace."""

    required: ClassVar = {"GET": ADMINS, "DELETE": ADMINS}

    @extend_schema(responses=TokenSerializer)
    def get(self, request: Request, ws: str, token_id: uuid.UUID) -> Response:
        """Return the token without its secret."""
        token = get_object_or_404(_tokens(self), id=token_id)
        return Response(TokenSerializer(token).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, ws: str, token_id: uuid.UUID) -> Response:
        """Revoke the token, at once and for good; it stays in the list."""
        revoke_token(self.access, get_object_or_404(self.workspace.tokens, id=token_id))
        return Response(status=204)


class TokenRotationView(WorkspaceView):
    """The rotation of a token."""

    required: ClassVar = {"POST": ADMINS}

    @extend_schema(request=TokenRotation, responses={201: TokenWithSecretSerializer})
    @idempotent(recheck=None, withhold=("token",))
    def post(self, request: Request, ws: str, token_id: uuid.UUID) -> Response:
        """Replace the token by a new one; the old one ends at once or after `overlap_minutes`.

        Name, scopes, groups and expiry are copied. The new secret is in this answer only.
        """
        overlap = timedelta(minutes=strict_body(request, TokenRotation)["overlap_minutes"])
        return _with_secret(*rotate_token(self.access, token_id, overlap))


def _tokens(view: WorkspaceView) -> "QuerySet[ApiToken]":
    return with_token_groups(view.workspace.tokens.select_related("created_by"))


def _with_secret(token: Any, secret: str) -> Response:
    if not isinstance(token, ApiToken):  # its person's groups
        token.group_ids, token.filters, token.created_by = [], {}, token.user
    answer = {**TokenSerializer(token).data, "token": secret}
    return Response(answer, status=201, headers={"Cache-Control": "no-store"})
