"""`/workspaces/{ws}/eval/gate`: a job that tests other settings with the golden queries."""

import uuid
from typing import Any, ClassVar

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from ingest.api.jobs.serializers import JobSerializer
from ingest.api.querysets import get_job
from ingest.services.evaluation import request_verdict
from kebab.http.api.idempotency import idempotent
from kebab.http.api.serializers import StrictSerializer, strict_body
from kebab.http.api.views import WorkspaceView
from kebab.people.api.serializers import PreferencesField
from search.api.evaluation.topics import EVALUATE


class GateBody(StrictSerializer):
    """The body of a request to evaluate settings with the golden queries."""

    settings = PreferencesField(
        help_text="As in a change of the workspace; null: the default. {}, with `switch` and `force`: new"
        " chunks in place of older ones."
    )
    switch = serializers.BooleanField(
        default=False,
        help_text="Whether the workspace is to have them unless the golden queries get worse.",
    )
    force = serializers.BooleanField(
        default=False,
        help_text="With `switch`: whether it is to have them in any case; the audit has it.",
    )


class GateAnswerSerializer(serializers.Serializer[Any]):
    """The evaluation job; it fails with the size of the loss if the golden queries get worse."""

    job = JobSerializer()


def _check_replay(view: WorkspaceView, body: Any) -> None:
    """Raise Http404 if the caller may no longer see the job."""
    get_job(view.access, uuid.UUID(body["job"]["id"]))


class EvalGateView(WorkspaceView):
    """The quality gate of a workspace."""

    required: ClassVar = {"POST": EVALUATE}

    @extend_schema(request=GateBody, responses={202: GateAnswerSerializer})
    @idempotent(recheck=_check_replay)
    def post(self, request: Request, ws: str) -> Response:
        """Evaluate settings with the golden queries, in a job. With `switch` apply them afterwards.

        409 `quality_gate_untested` for `chunk_tokens` and `stemming`, unless `switch` and `force` are set.
        """
        requested = request_verdict(self.access, **strict_body(request, GateBody))
        job = get_job(self.access, requested.pk)
        location = reverse("api-job", kwargs={"ws": self.workspace.slug, "job_id": job.pk})
        return Response({"job": JobSerializer(job).data}, status=202, headers={"Location": location})
