"""`/workspaces/{ws}/embedding`: the embedding model, and changes of it without interrupting searches."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from ingest.services.embedding import build_space, retire_space, roll_back_space, switch_space
from ingest.services.embedding_status import embedding_status
from kebab.http.api.openapi_schema import wire_component
from kebab.http.api.serializers import StrictSerializer, strict_body
from kebab.http.api.views import WorkspaceView
from kebab.identity.caller import MANAGERS, Need
from kebab.identity.models import Role
from kebab.wire import to_document

_VERSION = "embedding.v1"
_EMBEDDING = wire_component(_VERSION)
_READ = Need(role=Role.VIEWER, scope="any")
_MAX_NAME_CHARS = 200


class NewBuild(StrictSerializer):
    """The body of a request to build a space."""

    embedder = serializers.CharField(
        max_length=_MAX_NAME_CHARS,
        required=False,
        help_text="One of `allowed`; it becomes the workspace's. Left out: the one it has.",
    )
    hold = serializers.BooleanField(
        default=False, help_text="Whether the space waits, complete, for a request to switch."
    )


class Switch(StrictSerializer):
    """The body of a request to switch to the built space."""

    force = serializers.BooleanField(
        default=False,
        help_text="Whether it goes live even if golden queries get worse; the audit log has it.",
    )


class EmbeddingView(WorkspaceView):
    """The embedding of a workspace."""

    required: ClassVar = {"GET": _READ, "POST": MANAGERS}

    @extend_schema(responses={200: _EMBEDDING})
    def get(self, request: Request, ws: str) -> Response:
        """Return the spaces with their coverage and the estimated time to completion."""
        return _status(self)

    @extend_schema(request=NewBuild, responses={202: _EMBEDDING})
    def post(self, request: Request, ws: str) -> Response:
        """Build a space while the live one serves searches. It goes live once every chunk has its vector."""
        build_space(self.access, **strict_body(request, NewBuild))
        return _status(self, status=202)


class EmbeddingSwitchView(WorkspaceView):
    """The switch to the built space."""

    required: ClassVar = {"POST": MANAGERS}

    @extend_schema(request=Switch, responses={200: _EMBEDDING})
    def post(self, request: Request, ws: str) -> Response:
        """Make the built space the live one. Returns 409 until it is complete.

        Returns 409 `quality_gate` if the golden queries get worse with it, unless forced.
        """
        switch_space(self.access, **strict_body(request, Switch))
        return _status(self)


class EmbeddingRollbackView(WorkspaceView):
    """The rollback to the previous space."""

    required: ClassVar = {"POST": MANAGERS}
    with_body: ClassVar = ()

    @extend_schema(request=None, responses={200: _EMBEDDING})
    def post(self, request: Request, ws: str) -> Response:
        """Make the previous space the live one again. Returns 409 if none is retained."""
        roll_back_space(self.access)
        return _status(self)


class OneSpaceView(WorkspaceView):
    """One embedding space."""

    required: ClassVar = {"DELETE": MANAGERS}

    @extend_schema(responses={202: _EMBEDDING})
    def delete(self, request: Request, ws: str, space_id: int) -> Response:
        """Delete a space that isn't live, with its vectors, in a job. A build in progress is aborted."""
        retire_space(self.access, space_id)
        return _status(self, status=202)


def _status(view: WorkspaceView, *, status: int = 200) -> Response:
    view.workspace.refresh_from_db()
    found = embedding_status(view.workspace, view.access.reader)
    return Response(to_document(_VERSION, found), status=status)
