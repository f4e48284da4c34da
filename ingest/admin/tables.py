"""Jobs with their progress, and files in quarantine, in the Django admin."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display

from ingest.admin import actions  # noqa: F401  offers them
from ingest.models import Job, Unreadable
from ingest.progress import eta_s
from ingest.skip_messages import explanations
from kebab.admin import formatting
from kebab.admin.site import site
from kebab.admin.tenants import WORKSPACE_FILTER, TenantAdmin
from kebab.uuids import as_uuid

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
        ("Outcome", {"fields": ("outcome", "left_out", "bytes_done", "chunks_done", "calls", "seq")}),
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

    @display(description="state", label=_JOB_STATES)  # type: ignore[untyped-decorator]
    def state_label(self, job: Job) -> str:
        """Return the state."""
        return job.state  # type: ignore[no-any-return]

    @admin.display(description="source")
    def of_source(self, job: Job) -> Any:
        """Return the source."""
        return formatting.link(job.source)

    @admin.display(description="progress")
    def progress(self, job: Job) -> Any:
        """Return how much of it is done."""
        return formatting.progress(job.items_done, job.items_total)

    @admin.display(description="now at")
    def current(self, job: Job) -> str:
        """Return what it is at."""
        return formatting.clipped(job.current_path, 40) if not job.is_finished else ""

    @admin.display(description="error")
    def error_shown(self, job: Job) -> str:
        """Return the beginning of its error."""
        return formatting.clipped(job.error, 60)

    @admin.display(description="error")
    def error_whole(self, job: Job) -> Any:
        """Return its error."""
        return formatting.whole(job.error)

    @admin.display(description="time left")
    def eta(self, job: Job) -> str:
        """Return how long it may still take."""
        seconds = eta_s(job)
        return formatting.NONE if seconds is None else f"{seconds:,.0f} s"

    @admin.display(description="documents")
    def outcome(self, job: Job) -> Any:
        """Return what became of its documents, as far as it has been counted: at its end."""
        counted = [(name, number) for name, number in job.counts.items() if isinstance(number, int)]
        return formatting.rows(counted, "Outcome", "Documents")

    @admin.display(description="left out")
    def left_out(self, job: Job) -> Any:
        """Return why documents were skipped or failed, with examples."""
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

    @admin.display(description="asked for")
    def payload_shown(self, job: Job) -> Any:
        """Return what it was asked to do."""
        return formatting.as_json(job.payload)

    def find(self, request: HttpRequest, term: str) -> QuerySet[Job]:
        """Return the job with this id."""
        id_ = as_uuid(term)
        return Job.objects.none() if id_ is None else self.in_scope(request).filter(pk=id_)


@admin.register(Unreadable, site=site)
class QuarantineAdmin(TenantAdmin):
    """Files that were set aside as failed, the latest first."""

    list_display = ("path_shown", "in_workspace", "of_source", "reason", "detail_shown", "size", "at")
    list_select_related = ("workspace", "version__source")
    ordering = ("-at", "id")
    window_by = "at"
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

    def get_queryset(self, request: HttpRequest) -> QuerySet[Unreadable]:
        """Leave out what no parser reads at all."""
        return super().get_queryset(request).filter(is_quarantined=True)  # type: ignore[no-any-return]

    @admin.display(description="path")
    def path_shown(self, entry: Unreadable) -> str:
        """Return the path."""
        return formatting.clipped(entry.path)

    @admin.display(description="source")
    def of_source(self, entry: Unreadable) -> Any:
        """Return the source."""
        return formatting.link(entry.version.source)

    @admin.display(description="how attempts ended")
    def detail_shown(self, entry: Unreadable) -> str:
        """Return the beginning of what the parsers said."""
        return formatting.clipped(entry.detail, 60)

    @admin.display(description="how attempts ended")
    def detail_whole(self, entry: Unreadable) -> Any:
        """Return what the parsers said."""
        return formatting.whole(entry.detail)

    @admin.display(description="meaning")
    def meaning(self, entry: Unreadable) -> str:
        """Return the reason as a sentence."""
        return explanations([entry.reason]).get(entry.reason, formatting.NONE)

    @admin.display(description="size")
    def size(self, entry: Unreadable) -> str:
        """Return the size."""
        return formatting.size(entry.size_bytes)
