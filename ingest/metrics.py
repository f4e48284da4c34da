"""Counters and histograms of jobs."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from kebab.observability import tracing
from kebab.observability.metrics.instruments import LONG_SECONDS, Counter, Histogram

ITEMS = Counter("kebab_ingest_items_total", "Total number of finished job items.", "outcome", "reason")
CHUNKS = Counter("kebab_ingest_chunks_total", "Total number of chunks written with their documents.")
BYTES = Counter("kebab_ingest_bytes_total", "Total size of documents written, in bytes.")
STAGE_SECONDS = Histogram(
    "kebab_ingest_stage_seconds",
    "Duration of a stage of ingestion in seconds: parse and chunk per document, write per transaction,"
    " embed per batch of chunks.",
    "stage",
    bounds=LONG_SECONDS,
)
EMBEDDED = Counter("kebab_embedded_chunks_total", "Total number of chunks embedded.")
CLAIMS = Counter("kebab_job_attempts_total", "Total number of job attempts.", "kind")
ENDED = Counter("kebab_jobs_ended_total", "Total number of finished jobs.", "kind", "state")
JOB_SECONDS = Histogram(
    "kebab_job_seconds", "Time from first claim to end of a job, in seconds.", "kind", bounds=LONG_SECONDS
)
PUT_OFF = Counter(
    "kebab_jobs_put_off_total",
    "Total number of job attempts ended early: broke_off, lease_lost, yielded to others, or waiting for"
    " the embedder or disk space.",
    "kind",
    "reason",
)
HINTS = Counter("kebab_hints_total", "Total number of hints sent to wake a worker.", "queue")
HINTS_LOST = Counter("kebab_hints_lost_total", "Total number of failures to send hints.")
SWEEPS = Counter("kebab_sweeps_total", "Total number of sweeps for due jobs.")


@contextmanager
def time_write(documents: int) -> Iterator[None]:
    """Time the transaction that writes `documents` documents."""
    with tracing.span("ingest.write", documents=documents), STAGE_SECONDS.time("write"):
        yield


def count_items(ends: Iterable[tuple[str, str]]) -> None:
    """Count finished items, each given as its outcome and its reason."""
    for outcome, reason in ends:
        ITEMS.add(outcome, reason)


def count_chunks(chunks: int, size_bytes: int) -> None:
    """Count written chunks of documents, and the documents' bytes."""
    CHUNKS.add(amount=chunks)
    BYTES.add(amount=size_bytes)
