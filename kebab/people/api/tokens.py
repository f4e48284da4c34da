"""`/workspaces/{ws}/tokens`: what tools sign in with. Only people manage tokens."""

import uuid
from typing import ClassVar

from django.db import transaction
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.api.idempotency import idempotent
from kebab.api.pagination import KeysetPage, PageQuery
from kebab.api.permissions import Need
from kebab.api.schema import page_of
from kebab.api.serializers import strict_body
from kebab.api.views import WorkspaceView
from kebab.people import audit
from kebab.people.api.serializers import NewToken, TokenSerializer, TokenWithSecretSerializer
from kebab.people.models import Role
from kebab.people.revocation import revoke_token
from kebab.people.tokens import mint_token

_ADMIN = Need(role=Role.ADMIN, scope=None)


class TokensView(WorkspaceView):
    """The tokens of a workspace."""

    required: ClassVar = {"GET": _ADMIN, "POST": _ADMIN}
    queries: ClassVar = {"GET": PageQuery}

    @extend_schema(responses=page_of(TokenSerializer))
    def get(self, request: Request, ws: str) -> Response:
        """List the tokens, newest first, revoked ones too."""
        page = KeysetPage.requested(self, ordering=("-created_at", "id"))
        tokens = self.workspace.tokens.select_related("created_by")
        return page.response(tokens, lambda row: TokenSerializer(row).data)

    @extend_schema(request=NewToken, responses={201: TokenWithSecretSerializer})
    @idempotent(withhold=("token",))
    def post(self, request: Request, ws: str) -> Response:
        """Make a token. Its secret is in this answer only."""
        fields = strict_body(request, NewToken)
        with transaction.atomic():
            token, secret = mint_token(self.workspace, created_by=self.access.user, **fields)
            audit.record(self.access, "token.created", f"kbb_{token.prefix}", scopes=token.scopes)
        answer = {**TokenSerializer(token).data, "token": secret}
        return Response(answer, status=201, headers={"Cache-Control": "no-store"})


class OneTokenView(WorkspaceView):
    """One token of a workspace."""

    required: ClassVar = {"GET": _ADMIN, "DELETE": _ADMIN}

    @extend_schema(responses=TokenSerializer)
    def get(self, request: Request, ws: str, token_id: uuid.UUID) -> Response:
        """Give the token without its secret."""
        token = get_object_or_404(self.workspace.tokens.select_related("created_by"), id=token_id)
        return Response(TokenSerializer(token).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, ws: str, token_id: uuid.UUID) -> Response:
        """Revoke the token, at once and for good; its row stays."""
        token = get_object_or_404(self.workspace.tokens, id=token_id)
        with transaction.atomic():
            if revoke_token(token):
                audit.record(self.access, "token.revoked", f"kbb_{token.prefix}")
        return Response(status=204)
