"""`/workspaces/{ws}/embedding`: the embedding model, and changes of it without interrupting searches."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from ingest.services.embedding import build_space, retire_space, roll_back_space, switch_space
from ingest.services.model_change import embedding_status
from kebab.http.api.permissions import MANAGERS, Need
from kebab.http.api.serializers import StrictSerializer, strict_body
from kebab.http.api.views import WorkspaceView
from kebab.people.models import Role
from search.models import SpaceState

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


class SpaceSerializer(serializers.Serializer[Any]):
    """One embedding space."""

    id = serializers.IntegerField()
    model = serializers.CharField()
    revision = serializers.CharField()
    dim = serializers.IntegerField()
    query_prefix = serializers.CharField()
    passage_prefix = serializers.CharField()
    state = serializers.ChoiceField(SpaceState.choices)
    embedder = serializers.CharField(allow_null=True, help_text="Who makes its vectors; null: nobody here.")
    vectors = serializers.IntegerField()
    coverage = serializers.FloatField(help_text="Chunks that have a vector in it, from 0 to 1.")
    eta_s = serializers.FloatField(allow_null=True, help_text="At the rate of the job that runs.")
    is_indexed = serializers.BooleanField()
    held = serializers.CharField(allow_null=True, help_text="Why it doesn't go live by itself once complete.")
    live_until = serializers.DateTimeField(allow_null=True)
    kept_until = serializers.DateTimeField(
        allow_null=True, help_text="A retired one is deleted from then on."
    )
    created_at = serializers.DateTimeField()


class EmbeddingSerializer(serializers.Serializer[Any]):
    """A workspace's embedding, as in `embedding.v1`."""

    schema_version = serializers.CharField()
    workspace = serializers.CharField(help_text="Its slug.")
    embedder = serializers.CharField(help_text="Which one the workspace is to have.")
    allowed = serializers.ListField(child=serializers.CharField())
    chunks = serializers.IntegerField()
    live = SpaceSerializer(allow_null=True)
    building = SpaceSerializer(allow_null=True)
    retired = SpaceSerializer(many=True)
    chunks_per_s = serializers.FloatField(allow_null=True)
    job = serializers.UUIDField(allow_null=True)
    error = serializers.CharField(allow_null=True, help_text="What the job waits for.")


class EmbeddingView(WorkspaceView):
    """The embedding of a workspace."""

    required: ClassVar = {"GET": _READ, "POST": MANAGERS}

    @extend_schema(responses=EmbeddingSerializer)
    def get(self, request: Request, ws: str) -> Response:
        """Return the spaces with their coverage and the estimated time to completion."""
        return _status(self)

    @extend_schema(request=NewBuild, responses={202: EmbeddingSerializer})
    def post(self, request: Request, ws: str) -> Response:
        """Build a space while the live one serves searches. It goes live once every chunk has its vector."""
        build_space(self.access, **strict_body(request, NewBuild))
        return _status(self, status=202)


class EmbeddingSwitchView(WorkspaceView):
    """The switch to the built space."""

    required: ClassVar = {"POST": MANAGERS}

    @extend_schema(request=Switch, responses=EmbeddingSerializer)
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

    @extend_schema(request=None, responses=EmbeddingSerializer)
    def post(self, request: Request, ws: str) -> Response:
        """Make the previous space the live one again. Returns 409 if none is retained."""
        roll_back_space(self.access)
        return _status(self)


class OneSpaceView(WorkspaceView):
    """One embedding space."""

    required: ClassVar = {"DELETE": MANAGERS}

    @extend_schema(responses={202: EmbeddingSerializer})
    def delete(self, request: Request, ws: str, space_id: int) -> Response:
        """Delete a space that isn't live, with its vectors, in a job. A build in progress is aborted."""
        retire_space(self.access, space_id)
        return _status(self, status=202)


def _status(view: WorkspaceView, *, status: int = 200) -> Response:
    view.workspace.refresh_from_db()
    return Response(
        EmbeddingSerializer(embedding_status(view.workspace, view.access.reader)).data, status=status
    )
