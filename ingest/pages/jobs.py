"""Pages of jobs, and the actions on a job."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from ingest.api.jobs.views import JobsView
from ingest.api.querysets import get_job, readable_jobs
from ingest.jobs.queue.report import ingest_report, refused_item
from ingest.jobs.queue.request import can_retry
from ingest.models import OPEN_STATES, READS_DOCUMENTS, Job, JobState
from ingest.pages.rights import CHANGE, READ, is_allowed
from ingest.progress import eta_s, items_per_s
from ingest.services.jobs import cancel_job, retry_job
from ingest.skip_messages import NO_TEXT, UNREADABLE
from kebab.pages.page import HtmxHttpRequest, PostAction, WorkspacePage
from kebab.pages.pagination import list_page
from kebab.people.models import Workspace

_TAB = "jobs"
# Characters shown of an example's path.
_SHOWN_CHARS = 200
_FIGURES = ("new", "updated", "unchanged", "deleted", "skipped", "failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """A reason why files were skipped, failed or have no text."""

    name: str
    #: A sentence that explains the reason; '' if there is none.
    words: str
    count: int
    #: Some of their paths.
    examples: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The outcomes of the files that a job read."""

    figures: list[tuple[str, int]]
    failed: list[Reason]
    skipped: list[Reason]
    without_text: list[Reason]


def build_report(report: Mapping[str, Any]) -> Report:
    """Build the view model of an `ingest_report.v1`; the reasons with the most files come first."""
    return Report(
        figures=[(name, report[name]) for name in _FIGURES],
        failed=_reasons(report, report["failed_by_reason"]),
        skipped=_reasons(report, report["skipped_by_reason"]),
        without_text=_reasons(report, {NO_TEXT: report["without_text"]} if report["without_text"] else {}),
    )


def _reasons(report: Mapping[str, Any], counts: Mapping[str, int]) -> list[Reason]:
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [
        Reason(
            name=name,
            words=report["explanations"].get(name, ""),
            count=count,
            examples=[path[:_SHOWN_CHARS] for path in report["examples"].get(name, ())],
        )
        for name, count in ordered
    ]


class JobsPage(WorkspacePage):
    """The jobs of the workspace; while one is open the list refreshes itself."""

    need = JobsView.required["GET"]
    tab = _TAB

    def show(self, request: HtmxHttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the list, newest first, filtered by a valid `state`; for htmx only the list."""
        state = request.GET.get("state", "")
        jobs = readable_jobs(self.access)
        if state in JobState.values:
            jobs = jobs.filter(state=state)
        rows = list_page(self, request, jobs, ordering=("-created_at", "id"))
        is_open = any(job.state in OPEN_STATES for job in rows.rows)
        context = {"list": rows, "is_open": is_open, "state": state, "states": JobState.values}
        is_part = request.htmx
        return self.render(request, "ingest/job_list.html" if is_part else "ingest/jobs.html", **context)


class JobPage(WorkspacePage):
    """One job: its progress, and the outcomes of the files that it read."""

    need = READ
    tab = _TAB

    def show(self, request: HttpRequest, workspace: Workspace, job_id: uuid.UUID) -> HttpResponse:
        """Return the page. Raises NotFound."""
        job = get_job(self.access, job_id)
        report = _report(job)
        refused = refused_item(job) if job.is_finished else None
        context = {
            "job": job,
            "path": job.payload.get("path", job.payload.get("archive")),
            "rate": items_per_s(job),
            "eta_s": eta_s(job),
            "report": report,
            "is_open": not job.is_finished,
            "may_cancel": not job.is_finished and is_allowed(self.access, CHANGE),
            "may_retry": is_allowed(self.access, CHANGE) and can_retry(job),
            "refused": refused,
            "has_unreadable": report is not None
            and refused is None
            and any(each.name in UNREADABLE for each in (*report.failed, *report.skipped)),
        }
        return self.render(request, "ingest/job.html", **context)


class JobCancel(PostAction):
    """Cancellation of a job."""

    need = CHANGE
    tab = _TAB

    def act(self, request: HttpRequest, workspace: Workspace, job_id: uuid.UUID) -> HttpResponse:
        """Cancel the job. Raises NotFound, JobNotOpen."""
        job = get_job(self.access, job_id)
        cancel_job(self.access, job)
        messages.success(request, "The job is being cancelled; what it has written stays.")
        return redirect("job", workspace.slug, job.pk)


class JobRetry(PostAction):
    """Retry of the failed items of a job."""

    need = CHANGE
    tab = _TAB

    def act(self, request: HttpRequest, workspace: Workspace, job_id: uuid.UUID) -> HttpResponse:
        """Request the new job, and redirect to it. Raises NotFound and what `retry_job` raises."""
        new_job = retry_job(self.access, get_job(self.access, job_id))
        messages.success(request, "What failed is tried again in this job.")
        return redirect("job", workspace.slug, new_job.pk)


def _report(job: Job) -> Report | None:
    has_report = job.is_finished and job.kind in READS_DOCUMENTS
    return build_report(ingest_report(job)) if has_report else None
