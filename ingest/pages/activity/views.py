"""Pages of activity, and the actions on an act."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.generic import RedirectView

from ingest.api.jobs.views import JobsView
from ingest.api.querysets import get_job, source_condition
from ingest.api.sources.configs import CHANGE_SOURCES, READ_SOURCES
from ingest.jobs.queue.report import ingest_report
from ingest.models import DOCUMENT_KINDS, READS_DOCUMENTS, Job, JobItem, JobKind, JobState
from ingest.pages.activity.acts import Act, act_jobs, build_acts, list_acts
from ingest.progress import eta_s
from ingest.services.jobs import cancel_act, dismiss_act, retry_act, retryable_jobs
from ingest.skip_messages import NO_TEXT, UNREADABLE
from kebab.identity.models import Workspace
from kebab.pages.page import HtmxHttpRequest, PostAction, WorkspacePage, list_page
from search.documents.omissions import OMISSION_KINDS

_TAB = "activity"
# Characters shown of an example's path.
_SHOWN_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """A reason why files were skipped, failed or have no text."""

    name: str
    #: A sentence that explains the reason, else its name.
    words: str
    count: int
    #: Some of their paths.
    examples: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The files that a job did not add, left out by rules, found no text in, or did not read whole."""

    refused: list[Reason]
    left_out: list[Reason]
    without_text: list[Reason]
    #: Kinds of text that could not be read, and that was left out on purpose.
    unread: list[Reason]
    omitted: list[Reason]
    #: Remarks of the source's connector.
    warnings: list[str]


def build_report(report: Mapping[str, Any]) -> Report:
    """Build the view model of an `ingest_report.v1`; the reasons with the most files come first."""
    skipped = report["skipped_by_reason"]
    refused = {reason: count for reason, count in skipped.items() if reason in UNREADABLE}
    left_out = {reason: count for reason, count in skipped.items() if reason not in UNREADABLE}
    return Report(
        refused=_reasons(report, {**refused, **report["failed_by_reason"]}),
        left_out=_reasons(report, left_out),
        without_text=_reasons(report, {NO_TEXT: report["without_text"]} if report["without_text"] else {}),
        unread=_reasons(report, _omissions(report, is_on_purpose=False)),
        omitted=_reasons(report, _omissions(report, is_on_purpose=True)),
        warnings=report["warnings"],
    )


def _omissions(report: Mapping[str, Any], *, is_on_purpose: bool) -> dict[str, int]:
    """Return the numbers of documents by kind."""
    return {
        kind: counted["documents"]
        for kind, counted in report["omissions"].items()
        if kind in OMISSION_KINDS and OMISSION_KINDS[kind].is_on_purpose == is_on_purpose
    }


def _reasons(report: Mapping[str, Any], counts: Mapping[str, int]) -> list[Reason]:
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [
        Reason(
            name=name,
            words=_(report["explanations"].get(name, name)),
            count=count,
            examples=[path[:_SHOWN_CHARS] for path in report["examples"].get(name, ())],
        )
        for name, count in ordered
    ]


class ActivityPage(WorkspacePage):
    """The acts in the workspace; while one is open the list refreshes itself."""

    need = JobsView.required["GET"]
    tab = _TAB

    def show(self, request: HtmxHttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the list, newest first, filtered by `show` and `source` (key or id); for htmx the list."""
        show, source = request.GET.get("show", ""), request.GET.get("source", "")[:63]
        firsts = list_acts(self.access, show=show)
        if source:
            firsts = firsts.filter(source_condition([source], "source"))
        rows = list_page(self, request, firsts, ordering=("-created_at", "id"))
        acts = build_acts(self.access, rows.rows)
        context = {
            "list": rows,
            "acts": acts,
            "is_open": any(act.is_open for act in acts),
            "show": show,
            "source": source,
        }
        template = "ingest/activity_list.html" if request.htmx else "ingest/activity.html"
        return self.render(request, template, **context)


class ActPage(WorkspacePage):
    """One act: its progress, and the files that were not added."""

    need = READ_SOURCES
    tab = _TAB

    def show(self, request: HtmxHttpRequest, workspace: Workspace, job_id: uuid.UUID) -> HttpResponseBase:
        """Return the page; of another job of an act redirect to the act. Raises NotFound."""
        job = get_job(self.access, job_id)
        if job.batch is not None:
            return redirect("act", workspace.slug, job.batch)
        (act,) = build_acts(self.access, [job])
        jobs = act_jobs(self.access, job)
        context = {
            "act": act,
            "job": job,
            "open_job": job if act.totals["files"] < 2 else None,
            "eta_s": _time_left(act, job, jobs),
            "errors": list(
                jobs.exclude(error="").order_by("error").values_list("error", flat=True).distinct()[:3]
            ),
            "files": list_page(self, request, _refused_items(workspace, jobs), ordering=("id",)),
            "report": _report(job) if act.totals["files"] < 2 else None,
            **self._rights(act, job),
        }
        return self.render(request, "ingest/act_body.html" if request.htmx else "ingest/act.html", **context)

    def _rights(self, act: Act, job: Job) -> Mapping[str, bool]:
        if not CHANGE_SOURCES.allows(self.access):
            return {}
        return {
            "may_cancel": act.is_running,
            "may_retry": not act.is_running and bool(retryable_jobs(job, limit=5)),
            "may_dismiss": act.needs_attention,
        }


def _time_left(act: Act, job: Job, jobs: QuerySet[Any]) -> float | None:
    """Return the seconds to the end of the files, or else of the embedding; None if unknown."""
    if act.is_embedding:
        running = jobs.filter(kind=JobKind.EMBED, state=JobState.RUNNING).first()
        return None if running is None else eta_s(running)
    return eta_s(job) if act.totals["files"] < 2 else None


class OldJobsAddress(RedirectView):
    """The address of an earlier version."""

    http_method_names: Sequence[str] = ("get", "head")


@PostAction.of(need=CHANGE_SOURCES, tab=_TAB)
def request_cancellation(page: PostAction, job_id: uuid.UUID) -> HttpResponse:
    """Cancel its open jobs. Raises NotFound, JobNotOpen."""
    cancel_act(page.access, get_job(page.access, job_id))
    return page.finish(_("Cancelling. What has been added already stays."), "act", job_id)


@PostAction.of(need=CHANGE_SOURCES, tab=_TAB)
def request_retry(page: PostAction, job_id: uuid.UUID) -> HttpResponse:
    """Request the new jobs, and redirect to their act. Raises NotFound and what `retry_job` raises."""
    again = retry_act(page.access, get_job(page.access, job_id))
    return page.finish(
        ngettext("Trying again.", "Trying %(n)d files again.", len(again)) % {"n": len(again)},
        "act",
        again[0].batch or again[0].pk,
    )


@PostAction.of(need=CHANGE_SOURCES, tab=_TAB)
def dismiss(page: PostAction, job_id: uuid.UUID) -> HttpResponse:
    """Unmark it. Raises NotFound."""
    dismiss_act(page.access, get_job(page.access, job_id))
    return page.finish(_("Dismissed."), "activity")


def _refused_items(workspace: Workspace, jobs: Any) -> Any:
    """Return the items that were refused or failed, except those whose upload was retried."""
    items = JobItem.objects.in_workspace(workspace).filter(job__in=jobs.values("pk"))
    is_upload = Q(job__kind__in=DOCUMENT_KINDS, outcome="skipped")
    is_refused = is_upload | Q(outcome="skipped", reason__in=UNREADABLE) | Q(outcome="failed")
    return items.filter(is_refused).exclude(job__kind=JobKind.INGEST_DOCUMENT, job__refused_items=0)


def _report(job: Job) -> Report | None:
    has_report = job.is_finished and job.kind in READS_DOCUMENTS
    return build_report(ingest_report(job)) if has_report else None
