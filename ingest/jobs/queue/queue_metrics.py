"""Gauges of the job queue in Postgres: open jobs, and jobs that wait for a worker."""

from collections.abc import Iterator

from django.db.models import Case, Count, Min, Value, When
from django.db.models.functions import Now
from django.utils import timezone

from ingest.models import OPEN_STATES, Job, JobKind
from kebab.observability.metrics.collectors import Collector, Sample, declare_gauge

#: The names of the queues, as hints use them.
QUEUES = ("ingest", "embed")

OPEN = declare_gauge("kebab_jobs_open", "Number of jobs that have not ended.", "kind", "state")
DUE = declare_gauge("kebab_jobs_due", "Number of jobs in Postgres that a worker may claim now.", "queue")
OLDEST = declare_gauge(
    "kebab_jobs_due_oldest_seconds", "Time that the oldest due job has been waiting, in seconds.", "queue"
)
EXPIRED = declare_gauge("kebab_jobs_lease_expired", "Number of running jobs whose lease has expired.")
WAITING = declare_gauge("kebab_workspaces_waiting", "Number of workspaces with a due job.", "queue")


def queue_samples() -> Iterator[Sample]:
    """Return the present samples of all gauges."""
    rows = Job.objects.filter(state__in=OPEN_STATES).order_by().values_list("kind", "state")
    for kind, state, count in rows.annotate(count=Count("pk")):
        yield Sample(family=OPEN, values=(kind, state), amount=count)
    expired = Job.objects.filter(state="running", lease_until__lt=Now()).count()
    yield Sample(family=EXPIRED, amount=expired)
    yield from _due_job_samples()


def _due_job_samples() -> Iterator[Sample]:
    queue = Case(When(kind=JobKind.EMBED, then=Value("embed")), default=Value("ingest"))
    due = Job.objects.all().due().order_by().annotate(queue=queue).values("queue")
    rows = due.annotate(
        count=Count("pk"), oldest=Min("due_at"), workspaces=Count("workspace_id", distinct=True)
    )
    found = {row["queue"]: row for row in rows}
    now = timezone.now()
    for name in QUEUES:
        row = found.get(name)
        age_s = 0.0 if row is None else max(0.0, (now - row["oldest"]).total_seconds())
        yield Sample(family=DUE, values=(name,), amount=row["count"] if row else 0)
        yield Sample(family=OLDEST, values=(name,), amount=age_s)
        yield Sample(family=WAITING, values=(name,), amount=row["workspaces"] if row else 0)


COLLECTORS = (("jobs", Collector(store="postgres", collect=queue_samples)),)
