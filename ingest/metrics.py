"""Counters and histograms of jobs."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from kebab.observability import tracing
from kebab.observability.metrics.instruments import LONG_SECONDS, Counter, Histogram

ITEMS = Counter("kebab_ingest_items_total", "Items that came to their end.", "outcome", "reason")
CHUNKS = Counter("kebab_ingest_chunks_total", "Chunks of documents that were written.")
BYTES = Counter("kebab_ingest_bytes_total", "Bytes of documents that were written.")
STAGE_SECONDS = Histogram(
    "kebab_ingest_stage_seconds",
    "Time for a stage of ingestion: parse and chunk for a document, write for a transaction of several, embed"
    " for a batch of chunks.",
    "stage",
    bounds=LONG_SECONDS,
)
EMBEDDED = Counter("kebab_embedded_chunks_total", "Chunks that were given their vectors.")
CLAIMS = Counter("kebab_job_attempts_total", "Attempts at jobs.", "kind")
ENDED = Counter("kebab_jobs_ended_total", "Jobs that came to their end.", "kind", "state")
JOB_SECONDS = Histogram(
    "kebab_job_seconds", "Time from a job's first claim to its end.", "kind", bounds=LONG_SECONDS
)
PUT_OFF = Counter(
    "kebab_jobs_put_off_total",
    "Attempts that ended without an end: broke_off, lease_lost, yielded to others, waits for its embedder or"
    " for room on a disk.",
    "kind",
    "reason",
)
HINTS = Counter("kebab_hints_total", "Hints that were sent to wake a worker.", "queue")
HINTS_LOST = Counter("kebab_hints_lost_total", "Times that hints could not be sent; the sweep sends them.")
SWEEPS = Counter("kebab_sweeps_total", "Sweeps for due jobs.")


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
