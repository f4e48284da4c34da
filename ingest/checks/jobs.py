"""The check of `kebab doctor` for jobs: each open job can be claimed, and is."""

from collections.abc import Iterator
from datetime import timedelta

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from ingest.jobs.queue.hints import hint_due_jobs
from ingest.models import OPEN_STATES, Job, JobState
from kebab.health.checks import CheckResult, failed_result, ok_result, repaired_result, warning_result
from kebab.health.process_checks import has_workers
from search.models import Source, SourceState

#: Name of these checks.
JOBS = "jobs"
_REMEDY = "Run: kebab doctor --repair"
# The sweep finds due jobs within seconds, but many due jobs wait for each other.
_OVERDUE_AFTER = timedelta(minutes=5)


def check_jobs(repair: bool) -> Iterator[CheckResult]:
    """Check that no open job is stuck, and that each source in state `indexing` has an open job."""
    found = [*_check_leases(repair), *_check_overdue(repair), *_check_sources(repair)]
    yield from found or [ok_result(JOBS, f"{Job.objects.filter(state__in=OPEN_STATES).count()} are open")]


def _check_leases(repair: bool) -> Iterator[CheckResult]:
    """Check for running jobs without a lease, which no worker could ever claim."""
    jobs = Job.objects.filter(state=JobState.RUNNING, lease_until=None)
    if names := _job_names(jobs):
        if repair:
            jobs.update(lease_until=Now())
            hint_due_jobs()
        yield _result(f"{names} run without a lease", repair=repair, done="free to be taken up")


def _check_overdue(repair: bool) -> Iterator[CheckResult]:
    """Check for jobs due for minutes, in a queue in which no job was started since and none runs."""
    since = Now() - _OVERDUE_AFTER
    for is_embedding in (False, True):
        queue = Job.objects.all().embedding(is_embedding)
        if queue.filter(Q(started_at__gt=since) | Q(state=JobState.RUNNING, lease_until__gt=Now())).exists():
            continue
        jobs = queue.due().filter(due_at__lt=since).exclude(lease_until__gt=since)
        if names := _job_names(jobs):
            yield _overdue_result(
                jobs, f"{names} are due for minutes and nobody works on them", repair=repair
            )


def _overdue_result(jobs: "QuerySet[Job]", detail: str, *, repair: bool) -> CheckResult:
    if not has_workers():
        return warning_result(JOBS, detail, "They wait for a worker; run: kebab up")
    if repair:
        jobs.update(hinted_at=None)
        hint_due_jobs()
    return _result(detail, repair=repair, done="workers are asked again")


def _check_sources(repair: bool) -> Iterator[CheckResult]:
    """Check for sources in state `indexing` without an open job."""
    reading = Job.objects.filter(
        workspace=OuterRef("workspace"), source=OuterRef("pk"), state__in=OPEN_STATES
    )
    sources = Source.objects.filter(state=SourceState.INDEXING).exclude(Exists(reading))
    keys = ", ".join(sources.order_by("key").values_list("key", flat=True)[:5])
    if not keys:
        return
    if repair:
        sources.exclude(last_indexed_at=None).update(state=SourceState.INDEXED)
        sources.filter(last_indexed_at=None).update(state=SourceState.PENDING)
    yield _result(f"the sources {keys} seem to be read, by no job", repair=repair, done="set right")


def _job_names(jobs: "QuerySet[Job]") -> str:
    names = [f"{job.kind} {job.pk}" for job in jobs.order_by("due_at")[:3]]
    return f"{jobs.count()} jobs ({', '.join(names)})" if names else ""


def _result(detail: str, *, repair: bool, done: str) -> CheckResult:
    return repaired_result(JOBS, f"{detail}; {done}") if repair else failed_result(JOBS, detail, _REMEDY)
