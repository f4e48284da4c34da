"""`/workspaces/{ws}/eval/runs`: asking topics, what came of it, and comparing."""

import uuid
from collections.abc import Mapping
from typing import Any, ClassVar

from django.http import HttpResponse
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from ingest.api.evaluation.serializers import (
    AskedRunSerializer,
    ComparisonQuery,
    ComparisonSerializer,
    NewRun,
    RecordedRunSerializer,
    RunSerializer,
    RunsQuery,
    RunTopicSerializer,
)
from ingest.api.jobs.serializers import JobSerializer
from ingest.api.querysets import one_job
from ingest.services.evaluation import ask_for_repetition, ask_for_run, remove_run
from kebab.http.api.errors import Conflict
from kebab.http.api.idempotency import idempotent
from kebab.http.api.openapi_schema import page_of
from kebab.http.api.pagination import KeysetPage, PageQuery
from kebab.http.api.serializers import strict_body
from kebab.http.api.views import WorkspaceView
from kebab.people.access.caller import Access
from search.api.evaluation.files import text_file
from search.api.evaluation.topics import EVALUATE
from search.evaluation.metrics import DEFAULT_MEASURES, check_measures
from search.evaluation.runs import compare_runs, run_of, trec_run, visible_runs
from search.evaluation.settings import RunSettings
from search.models import Run, RunState, RunTopic
from search.models.evaluation import GOLDEN


def _check_kept_answer(view: WorkspaceView, body: Any) -> None:
    """Raises NotFound when the caller may not know of the run any more."""
    run_of(view.access, uuid.UUID(body["run"]["id"]))


class EvalRunsView(WorkspaceView):
    """The runs of a workspace."""

    required: ClassVar = {"GET": EVALUATE, "POST": EVALUATE}
    queries: ClassVar = {"GET": RunsQuery}

    @extend_schema(responses=page_of(RunSerializer))
    def get(self, request: Request, ws: str) -> Response:
        """List the runs, newest first."""
        page = KeysetPage.requested(self, ordering=("-created_at", "id"))
        runs = visible_runs(self.access)
        if "set" in self.query:
            runs = runs.filter(topic_set=self.query["set"])
        if "state" in self.query:
            runs = runs.filter(state__in=self.query["state"])
        return page.response(runs, lambda row: RunSerializer(row).data)

    @extend_schema(request=NewRun, responses={202: AskedRunSerializer})
    @idempotent(recheck=_check_kept_answer)
    def post(self, request: Request, ws: str) -> Response:
        """Ask a set's topics, as they are now, in a job, from what you may read."""
        run = _asked_run(self.access, strict_body(request, NewRun))
        location = reverse("api-eval-run", kwargs={"ws": self.workspace.slug, "run_id": run.pk})
        job = one_job(self.access, run.job_id)  # type: ignore[arg-type]  # it was asked for
        body = {"run": RunSerializer(run).data, "job": JobSerializer(job).data}
        return Response(body, status=202, headers={"Location": location})


def _asked_run(access: Access, fields: Mapping[str, Any]) -> Run:
    if "repeat" in fields:
        return ask_for_repetition(access, run_of(access, fields["repeat"]), name=fields["name"])
    return ask_for_run(
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
        """Return the run with its figures and with what it takes to repeat it."""
        return Response(RecordedRunSerializer(run_of(self.access, run_id)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, ws: str, run_id: uuid.UUID) -> Response:
        """Delete the run; if it hasn't ended its job is cancelled."""
        remove_run(self.access, run_of(self.access, run_id))
        return Response(status=204)


class EvalRunTopicsView(WorkspaceView):
    """What came of each topic."""

    required: ClassVar = {"GET": EVALUATE}
    queries: ClassVar = {"GET": PageQuery}

    @extend_schema(responses=page_of(RunTopicSerializer))
    def get(self, request: Request, ws: str, run_id: uuid.UUID) -> Response:
        """List the run's topics in the order asked, with rankings, measures and times."""
        page = KeysetPage.requested(self, ordering=("ordinal",))
        topics = RunTopic.objects.in_workspace(self.workspace).filter(run=run_of(self.access, run_id))
        return page.response(topics, lambda row: RunTopicSerializer(row).data)


class EvalRunTrecView(WorkspaceView):
    """A run as TREC has it."""

    required: ClassVar = {"GET": EVALUATE}

    @extend_schema(responses={(200, "text/plain"): OpenApiTypes.STR})
    def get(self, request: Request, ws: str, run_id: uuid.UUID) -> HttpResponse:
        """Return the rankings as a run file, which trec_eval reads; 409 until the run has succeeded."""
        run = run_of(self.access, run_id)
        if run.state != RunState.SUCCEEDED:
            raise Conflict(f"The run is {run.state}; only one that has succeeded has its rankings.")
        return text_file(f"{run.pk}.run", trec_run(run))


class EvalRunComparisonView(WorkspaceView):
    """Two runs, topic by topic."""

    required: ClassVar = {"GET": EVALUATE}
    queries: ClassVar = {"GET": ComparisonQuery}

    @extend_schema(responses=ComparisonSerializer)
    def get(self, request: Request, ws: str, run_id: uuid.UUID) -> Response:
        """Compare the run with a baseline: wins, losses, draws, and whether chance could have made them."""
        run, baseline = run_of(self.access, run_id), run_of(self.access, self.query["baseline"])
        names = self.query.get("measures")
        found = compare_runs(baseline, run, None if names is None else check_measures(names))
        return Response({"baseline": baseline.pk, "run": run.pk, **found.as_json()})
