"""`/workspaces/{ws}/eval/gate`: what the golden queries say of other settings, asked in a job."""

import uuid
from typing import Any, ClassVar

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from ingest.api.jobs.serializers import JobSerializer
from ingest.api.querysets import one_job
from ingest.services.settings import ask_for_verdict
from kebab.http.api.idempotency import idempotent
from kebab.http.api.serializers import StrictSerializer, strict_body
from kebab.http.api.views import WorkspaceView
from kebab.people.api.serializers import PreferencesField
from search.api.evaluation.topics import EVALUATE


class GateRequest(StrictSerializer):
    """The body that has the golden queries judge settings."""

    settings = PreferencesField(help_text="As in a change of the workspace; null: the default.")
    switch = serializers.BooleanField(
        default=False,
        help_text="Whether the workspace is to have them unless the golden queries get worse.",
    )
    force = serializers.BooleanField(
        default=False,
        help_text="With `switch`: whether it is to have them in any case; the audit has it.",
    )


class GateAnswerSerializer(serializers.Serializer[Any]):
    """The job that asks; it fails, and says how much is lost, where the golden queries get worse."""

    job = JobSerializer()


def _check_kept_answer(view: WorkspaceView, body: Any) -> None:
    """Raises Http404 when the caller may not know of the job any more."""
    one_job(view.access, uuid.UUID(body["job"]["id"]))


class EvalGateView(WorkspaceView):
    """The gate of a workspace."""

    required: ClassVar = {"POST": EVALUATE}

    @extend_schema(request=GateRequest, responses={202: GateAnswerSerializer})
    @idempotent(recheck=_check_kept_answer)
    def post(self, request: Request, ws: str) -> Response:
        """Have the golden queries asked under other settings, in a job; with `switch` change to them."""
        asked = ask_for_verdict(self.access, **strict_body(request, GateRequest))
        job = one_job(self.access, asked.pk)
        location = reverse("api-job", kwargs={"ws": self.workspace.slug, "job_id": job.pk})
        return Response({"job": JobSerializer(job).data}, status=202, headers={"Location": location})
