"""Reports of jobs: `seen = new + updated + unchanged + skipped + failed`, by reason; `deleted` is apart."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.db.models import BigIntegerField, Count, Q, QuerySet, Sum
from django.db.models.fields.json import KT
from django.db.models.functions import Cast

from ingest.models import DOCUMENT_KINDS, Job, JobItem
from ingest.skip_messages import NO_TEXT, explanations, is_refusal
from search.documents.omissions import OMISSION_KINDS

# Number of example paths for each reason that files were skipped or failed.
EXAMPLES = 5
# Longest example path: a name in an archive may have 65,535 characters.
MAX_EXAMPLE_CHARS = 1_000


def final_counts(job: Job) -> dict[str, Any]:
    """Return the counts of the job's listing and of the outcomes of its items."""
    counts = _listing_counts(job)
    outcomes = (
        JobItem.objects.of_job(job)
        .exclude(outcome="")
        .values_list("outcome", "reason")
        .annotate(n=Count("id"))
        .order_by("outcome", "reason")
    )
    for outcome, reason, n in outcomes:
        if outcome in {"skipped", "failed"}:
            counts[outcome][reason] = counts[outcome].get(reason, 0) + n
            counts["examples"].setdefault(reason, _example_paths(job, outcome=outcome, reason=reason))
        else:
            counts[outcome] += n
            if reason == NO_TEXT:
                counts["without_text"] += n
                counts["examples"].setdefault(reason, _example_paths(job, outcome=outcome, reason=reason))
    counts["omissions"] = _count_omissions(job)
    for kind in counts["omissions"]:
        counts["examples"].setdefault(kind, _example_paths(job, omissions__has_key=kind))
    return counts


def ingest_report(job: Job) -> dict[str, Any]:
    """Return `ingest_report.v1` of a sync or an upload, finished or not."""
    counts = job.counts if "new" in job.counts else final_counts(job)
    skipped, failed = sum(counts["skipped"].values()), sum(counts["failed"].values())
    added = counts["new"] + counts["updated"] + counts["unchanged"]
    without_text = counts.get("without_text", 0)
    reasons = [*counts["skipped"], *counts["failed"], *([NO_TEXT] if without_text else [])]
    omissions = counts.get("omissions", {})
    end = job.finished_at
    return {
        "schema_version": "ingest_report.v1",
        "job": str(job.pk),
        "state": job.state,
        "error": job.error or None,
        "seen": added + skipped + failed,
        "new": counts["new"],
        "updated": counts["updated"],
        "unchanged": counts["unchanged"],
        "skipped": skipped,
        "failed": failed,
        "deleted": counts["deleted"],
        "without_text": without_text,
        "skipped_by_reason": counts["skipped"],
        "failed_by_reason": counts["failed"],
        "examples": counts["examples"],
        "explanations": {
            **explanations(reasons),
            **{kind: OMISSION_KINDS[kind].sentence for kind in omissions if kind in OMISSION_KINDS},
        },
        "omissions": omissions,
        "project_file": counts.get("project_file"),
        "warnings": counts.get("warnings", []),
        "bytes": job.bytes_done,
        "chunks": job.chunks_done,
        "parser_calls": job.calls,
        "seconds": round((end - job.started_at).total_seconds(), 3) if end and job.started_at else None,
        "seq": job.seq,
    }


def refused_by_reason(kind: str, counts: Mapping[str, Any]) -> dict[str, int]:
    """Return how many files of a job of this kind were refused or failed, by reason."""
    refused: Counter[str] = Counter()
    for outcome in ("skipped", "failed"):
        for reason, count in counts.get(outcome, {}).items():
            if is_refusal(outcome, reason, is_upload=kind in DOCUMENT_KINDS):
                refused[reason] += count
    return dict(refused)


def refused_items(job: Job) -> QuerySet[JobItem]:
    """Return the skipped and failed items of a job of chosen documents, none of others."""
    items: QuerySet[JobItem] = JobItem.objects.of_job(job).filter(outcome__in=("skipped", "failed"))
    return items if job.kind in DOCUMENT_KINDS else items.none()


def refusal_message(name: str | None, reason: str, detail: str) -> str:
    """Return the message that an upload was not ingested, and why."""
    upload = "The upload" if name is None else repr(name)
    return f"{upload} was not ingested ({reason}). {detail}".strip()


def _listing_counts(job: Job) -> dict[str, Any]:
    listed = job.counts or {}
    return {
        "new": 0,
        "updated": 0,
        "unchanged": listed.get("unchanged", 0),
        # documents whose new content is refused: their items are skipped
        "deleted": listed.get("deleted", 0),
        "without_text": 0,
        "skipped": dict(Counter(listed.get("skipped", {}))),
        "failed": dict(Counter(listed.get("failed", {}))),
        "examples": {reason: list(paths) for reason, paths in listed.get("examples", {}).items()},
        "project_file": listed.get("project_file"),
        "listed": listed.get("listed", 0),
        "warnings": listed.get("warnings", []),
    }


def _count_omissions(job: Job) -> dict[str, dict[str, Any]]:
    """Return, by kind, the number of the job's documents that have the omission, its amount and unit."""
    figures: dict[str, Any] = {}
    for kind in OMISSION_KINDS:
        amounts = Cast(KT(f"omissions__{kind}__amount"), BigIntegerField())
        figures[f"{kind}_amount"] = Sum(amounts)
        figures[f"{kind}_documents"] = Count("id", filter=Q(omissions__has_key=kind))
    found = JobItem.objects.of_job(job).exclude(omissions={}).aggregate(**figures)
    return {
        kind: {
            "documents": found[f"{kind}_documents"],
            "amount": found[f"{kind}_amount"],
            "unit": OMISSION_KINDS[kind].unit,
        }
        for kind in OMISSION_KINDS
        if found[f"{kind}_documents"]
    }


def _example_paths(job: Job, **fields: Any) -> list[str]:
    items = JobItem.objects.of_job(job).filter(**fields)
    return list(items.order_by("id").values_list("path", flat=True)[:EXAMPLES])
