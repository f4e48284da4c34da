"""`/workspaces/{ws}/tokens`: API tokens for tools. For people only."""

import uuid
from datetime import timedelta
from typing import ClassVar

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.http.api.idempotency import idempotent
from kebab.http.api.openapi_schema import page_of
from kebab.http.api.serializers import strict_body
from kebab.http.api.views import KeysetPage, PageQuery, WorkspaceView
from kebab.identity.caller import ADMINS
from kebab.identity.models import ApiToken
from kebab.identity.tokens import with_token_groups
from kebab.people.api.serializers import NewToken, TokenRotation, TokenSerializer, TokenWithSecretSerializer
from kebab.people.token_lifecycle import issue_token, revoke_token, rotate_token


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
        """Create a token. Its secret is in this answer only."""
        fields = strict_body(request, NewToken)
        return _with_secret(*issue_token(self.access, **fields))


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


def _with_secret(token: ApiToken, secret: str) -> Response:
    answer = {**TokenSerializer(token).data, "token": secret}
    return Response(answer, status=201, headers={"Cache-Control": "no-store"})
