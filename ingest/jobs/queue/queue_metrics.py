"""What the queue of record holds: open jobs, and those that wait for a worker."""

from collections.abc import Iterator

from django.db.models import Case, Count, Min, Value, When
from django.db.models.functions import Now
from django.utils import timezone

from ingest.models import OPEN_STATES, Job, JobKind
from kebab.observability.metrics.collectors import Question, Sample, gauge, register_question

#: The queue of a job's kind, as hints have it.
QUEUES = ("ingest", "embed")

OPEN = gauge("kebab_jobs_open", "Jobs that have not ended.", "kind", "state")
DUE = gauge("kebab_jobs_due", "Jobs in Postgres, the queue of record, that a worker may claim now.", "queue")
OLDEST = gauge("kebab_jobs_due_oldest_seconds", "For how long the oldest of them has been due.", "queue")
EXPIRED = gauge("kebab_jobs_lease_expired", "Running jobs whose worker has not been heard of in time.")
WAITING = gauge("kebab_workspaces_waiting", "Workspaces that have a job that is due.", "queue")


def register() -> None:
    """Have it told with the metrics."""
    register_question("jobs", Question(store="postgres", ask=jobs_now))


def jobs_now() -> Iterator[Sample]:
    """Return what the tables say now."""
    yield from _open()
    yield from _due()


def _open() -> Iterator[Sample]:
    rows = Job.objects.filter(state__in=OPEN_STATES).order_by().values_list("kind", "state")
    for kind, state, count in rows.annotate(count=Count("pk")):
        yield Sample(family=OPEN, values=(kind, state), amount=count)
    expired = Job.objects.filter(state="running", lease_until__lt=Now()).count()
    yield Sample(family=EXPIRED, amount=expired)


def _due() -> Iterator[Sample]:
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
