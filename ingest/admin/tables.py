"""Django admin of jobs with their progress, and of files in quarantine."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display

from ingest.admin import actions  # noqa: F401  registers the actions
from ingest.models import Job, Unreadable
from ingest.progress import eta_s
from ingest.skip_messages import explanations
from kebab.admin import formatting
from kebab.admin.site import site
from kebab.admin.tenants import WORKSPACE_FILTER, TenantAdmin
from kebab.uuids import parse_uuid

_JOB_STATES = {"running": "info", "succeeded": "success", "failed": "danger", "cancelled": "warning"}


@admin.register(Job, site=site)
class JobAdmin(TenantAdmin):
    """Jobs, newest first."""

    list_display = (
        "kind",
        "state_label",
        "in_workspace",
        "of_source",
        "progress",
        "current",
        "error_shown",
        "requested_by",
        "created_at",
    )
    list_select_related = ("workspace", "source")
    ordering = ("-created_at", "id")
    window_by = "created_at"
    figures = (
        (_("Running jobs"), {"state__exact": "running"}),
        (_("Waiting jobs"), {"state__exact": "queued"}),
        (_("Failed jobs"), {"state__exact": "failed"}),
    )
    list_filter: ClassVar[Any] = (
        WORKSPACE_FILTER,
        ("state", ChoicesDropdownFilter),
        ("kind", ChoicesDropdownFilter),
    )
    search_fields = ("id",)
    search_help_text = "The id of a job"
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "kind",
                    "state_label",
                    "progress",
                    "eta",
                    "current_path",
                    "error_whole",
                    "in_workspace",
                    "of_source",
                    "id",
                )
            },
        ),
        ("Outcome", {"fields": ("outcome", "skip_reasons", "bytes_done", "chunks_done", "calls", "seq")}),
        (
            "Running",
            {
                "fields": (
                    "requested_by",
                    "created_at",
                    "started_at",
                    "finished_at",
                    "attempt",
                    "stalled_attempts",
                    "due_at",
                    "lease_until",
                    "cancel_requested",
                    "payload_shown",
                )
            },
        ),
    )

    @display(description="state", label=_JOB_STATES)
    def state_label(self, job: Job) -> str:
        """Return the state."""
        return job.state

    @admin.display(description="source")
    def of_source(self, job: Job) -> Any:
        """Return the source."""
        return formatting.link(job.source)

    @admin.display(description="progress")
    def progress(self, job: Job) -> Any:
        """Return the progress bar of the job's items."""
        return formatting.progress(job.items_done, job.items_total)

    @admin.display(description=_("current file"))
    def current(self, job: Job) -> str:
        """Return the current path of an unfinished job."""
        return formatting.truncate(job.current_path, 40) if not job.is_finished else ""

    @admin.display(description="error")
    def error_shown(self, job: Job) -> str:
        """Return the start of the error message."""
        return formatting.truncate(job.error, 60)

    @admin.display(description="error")
    def error_whole(self, job: Job) -> Any:
        """Return the whole error message."""
        return formatting.preformatted(job.error)

    @admin.display(description="time left")
    def eta(self, job: Job) -> str:
        """Return the estimated time to the end."""
        seconds = eta_s(job)
        return formatting.NONE if seconds is None else f"{seconds:,.0f} s"

    @admin.display(description="documents")
    def outcome(self, job: Job) -> Any:
        """Return the numbers of documents by outcome, which are counted when the job finishes."""
        counted = [(name, number) for name, number in job.counts.items() if isinstance(number, int)]
        return formatting.rows(counted, "Outcome", "Documents")

    @admin.display(description=_("skipped"))
    def skip_reasons(self, job: Job) -> Any:
        """Return the reasons of skipped and failed documents, with examples."""
        reasons = [
            (outcome, reason, number)
            for outcome in ("skipped", "failed")
            for reason, number in job.counts.get(outcome, {}).items()
        ]
        sentences, examples = explanations(reason for _, reason, _ in reasons), job.counts.get("examples", {})
        cells = [
            (outcome, reason, number, sentences.get(reason, ""), "\n".join(examples.get(reason, [])))
            for outcome, reason, number in reasons
        ]
        return formatting.rows(cells, "Outcome", "Reason", "Documents", "Meaning", "Such as")

    @admin.display(description=_("parameters"))
    def payload_shown(self, job: Job) -> Any:
        """Return the job's payload."""
        return formatting.as_json(job.payload)

    def find(self, request: HttpRequest, term: str) -> QuerySet[Job]:
        """Return the job with this id."""
        id_ = parse_uuid(term)
        return Job.objects.none() if id_ is None else self.scoped_rows(request).filter(pk=id_)


@admin.register(Unreadable, site=site)
class UnreadableAdmin(TenantAdmin):
    """Refused and quarantined files, the latest first."""

    list_display = (
        "path_shown",
        "in_workspace",
        "of_source",
        "state",
        "reason",
        "detail_shown",
        "size",
        "at",
    )
    list_select_related = ("workspace", "version__source")
    ordering = ("-at", "id")
    window_by = "at"
    figures = ((_("Unreadable files"), {}),)
    fields = (
        "path",
        "in_workspace",
        "of_source",
        "reason",
        "meaning",
        "detail_whole",
        "size",
        "content_hash",
        "parser_version",
        "at",
    )

    @admin.display(description="path")
    def path_shown(self, entry: Unreadable) -> str:
        """Return the path."""
        return formatting.truncate(entry.path)

    @admin.display(description="source")
    def of_source(self, entry: Unreadable) -> Any:
        """Return the source."""
        return formatting.link(entry.version.source)

    @admin.display(description=_("details"))
    def detail_shown(self, entry: Unreadable) -> str:
        """Return the start of the parsers' messages."""
        return formatting.truncate(entry.detail, 60)

    @admin.display(description=_("details"))
    def detail_whole(self, entry: Unreadable) -> Any:
        """Return the parsers' messages."""
        return formatting.preformatted(entry.detail)

    @admin.display(description="meaning")
    def meaning(self, entry: Unreadable) -> str:
        """Return the reason as a sentence."""
        return explanations([entry.reason]).get(entry.reason, formatting.NONE)

    @admin.display(description="size")
    def size(self, entry: Unreadable) -> str:
        """Return the size."""
        return formatting.size(entry.size_bytes)
