"""`/workspaces/{ws}/eval/runs` and `/eval/gate`: evaluation runs, comparisons, and the quality gate."""

import uuid
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from django.http import HttpResponse
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from ingest.api.evaluation.serializers import (
    AskedRunSerializer,
    ComparisonQuery,
    NewRun,
    RecordedRunSerializer,
    RunSerializer,
    RunsQuery,
    RunTopicSerializer,
)
from ingest.api.jobs.serializers import JobSerializer
from ingest.api.querysets import get_job
from ingest.services.evaluation import cancel_and_delete_run, request_repetition, request_run, request_verdict
from kebab.errors import Conflict
from kebab.http.api.idempotency import idempotent
from kebab.http.api.openapi_schema import page_of, wire_component
from kebab.http.api.serializers import StrictSerializer, strict_body
from kebab.http.api.views import KeysetPage, PageQuery, WorkspaceView
from kebab.identity.caller import Access
from kebab.people.api.workspaces import PreferencesField
from kebab.wire import to_wire
from search.api.evaluation.topics import EVALUATE, text_file_response
from search.evaluation.metrics import DEFAULT_MEASURES, check_measures
from search.evaluation.runs import compare_runs, format_trec_run, get_run, visible_runs
from search.evaluation.settings import RunSettings
from search.models import Run, RunState, RunTopic
from search.models.evaluation import GOLDEN


def _check_replay(view: WorkspaceView, body: Any) -> None:
    """Raise NotFound if the caller may no longer see the run."""
    get_run(view.access, uuid.UUID(body["run"]["id"]))


class EvalRunsView(WorkspaceView):
    """The runs of a workspace."""

    required: ClassVar = {"GET": EVALUATE, "POST": EVALUATE}
    queries: ClassVar = {"GET": RunsQuery}

    @extend_schema(responses=page_of(RunSerializer))
    def get(self, request: Request, ws: str) -> Response:
        """List the runs, newest first."""
        page = KeysetPage.from_view(self, ordering=("-created_at", "id"))
        runs = visible_runs(self.access)
        if "set" in self.query:
            runs = runs.filter(topic_set=self.query["set"])
        if "state" in self.query:
            runs = runs.filter(state__in=self.query["state"])
        return page.response(runs, partial(self.serialise, RunSerializer))

    @extend_schema(request=NewRun, responses={202: AskedRunSerializer})
    @idempotent(recheck=_check_replay)
    def post(self, request: Request, ws: str) -> Response:
        """Run the present topics of a set, in a job, on the documents that you may read."""
        run = _request_run(self.access, strict_body(request, NewRun))
        location = reverse("api-eval-run", kwargs={"ws": self.workspace.slug, "run_id": run.pk})
        job = get_job(self.access, run.job_id)  # type: ignore[arg-type]  # it was requested above
        body = {"run": self.serialise(RunSerializer, run), "job": JobSerializer(job).data}
        return Response(body, status=202, headers={"Location": location})


def _request_run(access: Access, fields: Mapping[str, Any]) -> Run:
    if "repeat" in fields:
        return request_repetition(access, get_run(access, fields["repeat"]), name=fields["name"])
    return request_run(
        access,
        topic_set=fields.get("set", GOLDEN),
        settings=RunSettings.of(fields.get("settings", {})),
        measures=check_measures(fields.get("measures", DEFAULT_MEASURES)),
        name=fields["name"],
    )


class OneEvalRunView(WorkspaceView):
    """One run."""

    required: ClassVar = {"GET": EVALUATE, "DELETE": EVALUATE}

    @extend_schema(responses=RecordedRunSerializer)
    def get(self, request: Request, ws: str, run_id: uuid.UUID) -> Response:
        """Return the run with its figures and the record needed to repeat it."""
        return Response(self.serialise(RecordedRunSerializer, get_run(self.access, run_id)))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, ws: str, run_id: uuid.UUID) -> Response:
        """Delete the run. If it hasn't finished, its job is cancelled."""
        cancel_and_delete_run(self.access, get_run(self.access, run_id))
        return Response(status=204)


class EvalRunTopicsView(WorkspaceView):
    """The results of a run by topic."""

    required: ClassVar = {"GET": EVALUATE}
    queries: ClassVar = {"GET": PageQuery}

    @extend_schema(responses=page_of(RunTopicSerializer))
    def get(self, request: Request, ws: str, run_id: uuid.UUID) -> Response:
        """List the run's topics in the order in which they ran, with rankings, measures and times."""
        page = KeysetPage.from_view(self, ordering=("ordinal",))
        topics = RunTopic.objects.in_workspace(self.workspace).filter(run=get_run(self.access, run_id))
        return page.response(topics, lambda row: RunTopicSerializer(row).data)


class EvalRunTrecView(WorkspaceView):
    """A run in TREC's format."""

    required: ClassVar = {"GET": EVALUATE}

    @extend_schema(responses={(200, "text/plain"): OpenApiTypes.STR})
    def get(self, request: Request, ws: str, run_id: uuid.UUID) -> HttpResponse:
        """Return the rankings as a run file for trec_eval. Returns 409 until the run has succeeded."""
        run = get_run(self.access, run_id)
        if run.state != RunState.SUCCEEDED:
            raise Conflict(f"The run is {run.state}; only one that has succeeded has its rankings.")
        return text_file_response(f"{run.pk}.run", format_trec_run(run))


class EvalRunComparisonView(WorkspaceView):
    """The comparison of two runs, topic by topic."""

    required: ClassVar = {"GET": EVALUATE}
    queries: ClassVar = {"GET": ComparisonQuery}

    @extend_schema(responses={200: wire_component("run_comparison.v1")})
    def get(self, request: Request, ws: str, run_id: uuid.UUID) -> Response:
        """Compare the run with a baseline: wins, losses, draws, and their statistical significance."""
        run, baseline = get_run(self.access, run_id), get_run(self.access, self.query["baseline"])
        names = self.query.get("measures")
        found = compare_runs(baseline, run, None if names is None else check_measures(names))
        return Response({"baseline": baseline.pk, "run": run.pk, **to_wire(found)})


class GateBody(StrictSerializer):
    """The body of a request to evaluate settings with the golden queries."""

    settings = PreferencesField(
        help_text="As in a change of the workspace; null: the default. {}, with `switch` and `force`: new"
        " chunks in place of older ones."
    )
    switch = serializers.BooleanField(
        default=False, help_text="Whether the workspace is to have them unless the golden queries get worse."
    )
    force = serializers.BooleanField(
        default=False, help_text="With `switch`: whether it is to have them in any case; the audit has it."
    )


class GateAnswerSerializer(serializers.Serializer[Any]):
    """The evaluation job; it fails with the size of the loss if the golden queries get worse."""

    job = JobSerializer()


def _check_gate_replay(view: WorkspaceView, body: Any) -> None:
    """Raise Http404 if the caller may no longer see the job."""
    get_job(view.access, uuid.UUID(body["job"]["id"]))


class EvalGateView(WorkspaceView):
    """The quality gate of a workspace."""

    required: ClassVar = {"POST": EVALUATE}

    @extend_schema(request=GateBody, responses={202: GateAnswerSerializer})
    @idempotent(recheck=_check_gate_replay)
    def post(self, request: Request, ws: str) -> Response:
        """Evaluate settings with the golden queries, in a job. With `switch` apply them afterwards.

        409 `quality_gate_untested` for `chunk_tokens` and `stemming`, unless `switch` and `force` are set.
        """
        requested = request_verdict(self.access, **strict_body(request, GateBody))
        job = get_job(self.access, requested.pk)
        location = reverse("api-job", kwargs={"ws": self.workspace.slug, "job_id": job.pk})
        return Response({"job": JobSerializer(job).data}, status=202, headers={"Location": location})
