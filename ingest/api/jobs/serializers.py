"""Serializers of jobs and their items."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from ingest.jobs.queue.report import ingest_report, refused_by_reason
from ingest.models import READS_DOCUMENTS, ItemState, Job, JobItem, JobKind, JobState
from ingest.progress import eta_s, items_per_s
from kebab.http.api.openapi_schema import wire_component
from kebab.http.api.serializers import NullableTextField
from kebab.http.api.views import PageQuery
from search.api.serializers import OmissionSerializer
from search.corpus.seq_tokens import read_seq_token


class JobSerializer(serializers.Serializer[Job]):
    """A job with its progress, which never decreases."""

    id = serializers.UUIDField()
    kind = serializers.ChoiceField(JobKind.choices)
    state = serializers.ChoiceField(JobState.choices)
    source = serializers.CharField(source="source_key", allow_null=True)  # type: ignore[assignment]  # a declared field, not the base's attribute
    path = serializers.SerializerMethodField(help_text="Of the document or archive that is uploaded.")
    is_listed = serializers.SerializerMethodField(help_text="Whether `items_total` is final.")
    items_listed = serializers.SerializerMethodField(help_text="Entries of a source that a sync has listed.")
    items_total = serializers.IntegerField(help_text="As far as they have been listed.")
    items_done = serializers.IntegerField()
    bytes_done = serializers.IntegerField()
    chunks_done = serializers.IntegerField()
    current_path = serializers.CharField()
    items_per_s = serializers.SerializerMethodField()
    eta_s = serializers.SerializerMethodField()
    cancel_requested = serializers.BooleanField()
    error = NullableTextField()
    refused = serializers.SerializerMethodField(
        help_text="Numbers of refused and failed files by reason, final at the end: a job that succeeded may "
        "have refused some."
    )
    seq = serializers.IntegerField(allow_null=True, help_text="The change that made its last write visible.")
    requested_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)

    def get_path(self, job: Job) -> str | None:
        """Return the path of an upload."""
        path: str | None = job.payload.get("path", job.payload.get("archive"))
        return path

    def get_is_listed(self, job: Job) -> bool:
        """Return whether all entries of the source or archive are listed."""
        return job.discovered_at is not None

    def get_items_listed(self, job: Job) -> int:
        """Return the number of entries listed so far."""
        return int(job.counts.get("listed", 0))

    def get_refused(self, job: Job) -> dict[str, int]:
        """Return the numbers of refused and failed files by reason."""
        return refused_by_reason(job.kind, job.counts)

    def get_items_per_s(self, job: Job) -> float | None:
        """Return the rate of items per second."""
        return items_per_s(job)

    def get_eta_s(self, job: Job) -> float | None:
        """Return the estimated seconds to the end."""
        return eta_s(job)


class ReportedJobSerializer(JobSerializer):
    """A job with its report."""

    report = serializers.SerializerMethodField(help_text="ingest_report.v1 of a sync or an upload.")
    seq_token = serializers.SerializerMethodField(help_text="`seq` with the token of its history.")

    @extend_schema_field({"anyOf": [wire_component("ingest_report.v1"), {"type": "null"}]})
    def get_report(self, job: Job) -> dict[str, Any] | None:
        """Return the report so far."""
        return ingest_report(job) if job.kind in READS_DOCUMENTS else None

    def get_seq_token(self, job: Job) -> str | None:
        """Return what a search takes as `min_seq`."""
        return read_seq_token(job.workspace_id, job.seq)


class AskedJobSerializer(serializers.Serializer[Any]):
    """The job that executes the request."""

    job = JobSerializer()


class JobItemSerializer(serializers.Serializer[JobItem]):
    """One document's part of a job."""

    path = serializers.CharField()
    action = serializers.ChoiceField(["ingest", "delete"])
    state = serializers.ChoiceField(ItemState.choices)
    outcome = NullableTextField(
        help_text="new, updated, unchanged, deleted, skipped or failed; null while it is pending"
    )
    reason = NullableTextField(
        help_text="Why it was skipped or failed, or `no_text`: it was read, and has none."
    )
    detail = serializers.SerializerMethodField(
        help_text="The reason in words; of a document that was read what was left out, and warnings."
    )
    omissions = OmissionSerializer(many=True, source="omission_views")

    def get_detail(self, item: JobItem) -> str | None:
        """Return the sentences about omissions, then the detail."""
        return "; ".join(filter(None, (*(each.message for each in item.omission_views), item.detail))) or None


class JobsQuery(PageQuery):
    """The parameters of a workspace's jobs; a filter may be repeated."""

    state = serializers.ListField(child=serializers.ChoiceField(JobState.choices), required=False)
    kind = serializers.ListField(child=serializers.ChoiceField(JobKind.choices), required=False)


class JobItemsQuery(PageQuery):
    """The parameters of a job's items."""

    state = serializers.ChoiceField(ItemState.choices, required=False)
