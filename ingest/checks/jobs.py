"""What `kebab doctor` says about jobs: whatever is open can be taken up, and is."""

from collections.abc import Iterator
from datetime import timedelta

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from ingest.jobs.queue.hints import hint_due_jobs
from ingest.models import OPEN_STATES, Job, JobState
from kebab.observability.health.checks import CheckResult, failed, repaired, warning, well
from kebab.observability.health.process_checks import has_workers
from search.models import Source, SourceState

#: What these checks are called.
JOBS = "jobs"
_REMEDY = "Run: kebab doctor --repair"
# The sweep finds what is due within seconds; many jobs that are due wait for each other.
_LATE = timedelta(minutes=5)


def check_jobs(repair: bool) -> Iterator[CheckResult]:
    """Return whether each open job has an end in sight, and each source that is being read has somebody
    reading.
    """
    found = [*_without_lease(repair), *_late(repair), *_sources(repair)]
    yield from found or [well(JOBS, f"{Job.objects.filter(state__in=OPEN_STATES).count()} are open")]


def _without_lease(repair: bool) -> Iterator[CheckResult]:
    """Running jobs that nobody may ever claim."""
    jobs = Job.objects.filter(state=JobState.RUNNING, lease_until=None)
    if named := _named(jobs):
        if repair:
            jobs.update(lease_until=Now())
            hint_due_jobs()
        yield _found(f"{named} run without a lease", repair=repair, done="free to be taken up")


def _late(repair: bool) -> Iterator[CheckResult]:
    """Jobs that are due for minutes, of a queue in which nothing was begun since and nobody works."""
    since = Now() - _LATE
    for is_embedding in (False, True):
        queue = Job.objects.all().embedding(is_embedding)
        if queue.filter(Q(started_at__gt=since) | Q(state=JobState.RUNNING, lease_until__gt=Now())).exists():
            continue
        jobs = queue.due().filter(due_at__lt=since).exclude(lease_until__gt=since)
        if named := _named(jobs):
            yield _late_jobs(jobs, f"{named} are due for minutes and nobody works on them", repair=repair)


def _late_jobs(jobs: "QuerySet[Job]", detail: str, *, repair: bool) -> CheckResult:
    if not has_workers():
        return warning(JOBS, detail, "They wait for a worker; run: kebab up")
    if repair:
        jobs.update(hinted_at=None)
        hint_due_jobs()
    return _found(detail, repair=repair, done="workers are asked again")


def _sources(repair: bool) -> Iterator[CheckResult]:
    """Sources that say that they are being read, by no job."""
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
    yield _found(f"the sources {keys} seem to be read, by no job", repair=repair, done="set right")


def _named(jobs: "QuerySet[Job]") -> str:
    named = [f"{job.kind} {job.pk}" for job in jobs.order_by("due_at")[:3]]
    return f"{jobs.count()} jobs ({', '.join(named)})" if named else ""


def _found(detail: str, *, repair: bool, done: str) -> CheckResult:
    return repaired(JOBS, f"{detail}; {done}") if repair else failed(JOBS, detail, _REMEDY)
