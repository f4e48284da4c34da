"""Speed of ingestion: documents until searchable and until embedded, and a single upload among them."""

import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from ingest.jobs.queue.request import request_embedding
from ingest.models import Job, JobState
from ingest.services.uploads import Upload, accept_upload
from kebab.cli.errors import CliError
from kebab.identity.models import Workspace
from kebab.identity.reader import OPERATOR
from search.embedders.configured import configured_embedder
from search.evaluation.results import percentile
from search.mirror import local_mirrors
from search.models import Chunk
from tests.drills.bench.budgets.embedder import embedder_figures
from tests.drills.bench.budgets.figures import Figure, missing_figure, value_of
from tests.drills.bench.folders import sync_folder
from tests.drills.bench.job_progress import await_end, follow, reload_job

_UPLOADS = 20
_WARM_UPS = 4
# The poll interval adds to the measured times, so it is short.
_POLL_S = 0.005
_SEARCHABLE_LIMIT_S = 60.0
_INGEST_RATE = 1_500.0
_EMBEDDING_SHARE = 0.9
_UPLOAD_MS = 500.0
_BACKLOGGED = "upload to searchable, embedding backlog"


def ingest_figures(workspace: Workspace, folder: Path, console: Console) -> list[Figure]:
    """Measure the ingestion of `folder` without vectors, until all of it is searchable on this node."""
    chunks, seconds = ingest_folder(workspace, folder, "bench", console)
    return [
        Figure(name="ingest to searchable", value=chunks / seconds, unit="chunks/s", at_least=_INGEST_RATE)
    ]


def ingest_folder(workspace: Workspace, folder: Path, source: str, console: Console) -> tuple[int, float]:
    """Ingest `folder` as `source`, without vectors; return the number of new chunks and the seconds."""
    chunks = Chunk.objects.in_workspace(workspace)
    before, started = chunks.count(), time.perf_counter()
    check_succeeded(follow(sync_folder(workspace, folder, source), console, "Ingesting"))
    workspace.refresh_from_db()
    local_mirrors.wait_for_seq(workspace.pk, workspace.head_seq, limit_s=_SEARCHABLE_LIMIT_S)
    seconds = time.perf_counter() - started
    return chunks.count() - before, seconds


def resync_s(workspace: Workspace, folder: Path, source: str) -> float:
    """Return the seconds of a sync of an unchanged folder, from its request to its end."""
    started = time.perf_counter()
    job = sync_folder(workspace, folder, source)
    check_succeeded(await_end(job, poll_s=_POLL_S))
    return time.perf_counter() - started


def warm_up(workspace: Workspace) -> None:
    """Upload documents until the workers have started, so that the start of a stack is not measured."""
    _uploads_s(workspace, "warm-up", _WARM_UPS)


def upload_figure(workspace: Workspace) -> Figure:
    """Measure the median time from an upload's request until it is searchable on this node."""
    return _upload_figure("upload to searchable", _uploads_s(workspace, "upload", _UPLOADS))


def embedding_figures(workspace: Workspace, ingested: list[Figure], console: Console) -> list[Figure]:
    """Embed the workspace, with uploads at the beginning, and compare the rate with the embedder's own."""
    if configured_embedder() is None:
        why = "KEBAB_EMBEDDER is none"
        return [missing_figure("embedder", why, unit="chunks/s"), missing_figure(_BACKLOGGED, why, unit="ms")]
    own = embedder_figures(workspace)
    job = request_embedding(workspace.pk)
    backlog = _backlog_figure(workspace, job)
    rate = _embedding_rate(job, console)
    alone = value_of(own, "embedder alone") or rate
    lexical = value_of(ingested, "ingest to searchable")
    return [
        *own,
        backlog,
        Figure(
            name="embedding job",
            value=rate,
            unit="chunks/s",
            at_least=_EMBEDDING_SHARE * alone,
            rule="90 % of alone",
            note=f"{rate / alone:.0%} of alone",
        ),
        *(
            [Figure(name="ingest to embedded", value=1 / (1 / lexical + 1 / rate), unit="chunks/s")]
            if lexical
            else []
        ),
    ]


def _backlog_figure(workspace: Workspace, job: Job) -> Figure:
    await_end(job, poll_s=_POLL_S, is_over=lambda job: job.items_done > 0)
    n_during = 0

    def count() -> None:
        nonlocal n_during
        n_during += not reload_job(job).is_finished

    seconds = _uploads_s(workspace, "backlog", _UPLOADS, count)
    if not n_during:
        return missing_figure(
            f"{_BACKLOGGED}, median", "the backlog ended before the first upload did", unit="ms"
        )
    note = "" if n_during == _UPLOADS else f"the backlog lasted for {n_during} of {_UPLOADS} uploads"
    return _upload_figure(_BACKLOGGED, seconds[:n_during], note)


def _embedding_rate(job: Job, console: Console) -> float:
    """Follow the job to its end, and return the chunks per second from now on, or of the whole job."""
    before, started = reload_job(job), time.perf_counter()
    ended = follow(before, console, "Embedding")
    check_succeeded(ended)
    if not before.is_finished:
        return (ended.items_done - before.items_done) / (time.perf_counter() - started)
    if ended.started_at is None or ended.finished_at is None:
        raise CliError("The embedding job has no times.", code="bench_failed")
    return ended.items_done / (ended.finished_at - ended.started_at).total_seconds()


def _upload_figure(name: str, seconds: list[float], note: str = "") -> Figure:
    median_ms = percentile(seconds, 50) * 1000
    return Figure(name=f"{name}, median", value=median_ms, unit="ms", at_most=_UPLOAD_MS, note=note)


def _uploads_s(
    workspace: Workspace, name: str, number_of_uploads: int, on_each: Callable[[], None] = lambda: None
) -> list[float]:
    seconds = []
    for number in range(number_of_uploads):
        text = f"# {name.capitalize()} {number}\n\nA small page on subject {number}, to be found at once.\n"
        path = f"{name}-{number}.md"
        upload = Upload(source="bench-uploads", path=path, version="", content=text.encode())
        started = time.perf_counter()
        accepted = accept_upload(workspace, upload, reader=OPERATOR, requested_by="")
        job = await_end(accepted.job, poll_s=_POLL_S)
        check_succeeded(job)
        local_mirrors.wait_for_seq(workspace.pk, job.seq or 0, limit_s=_SEARCHABLE_LIMIT_S)
        seconds.append(time.perf_counter() - started)
        on_each()
    return seconds


def check_succeeded(job: Job) -> None:
    """Raise CliError unless the job has succeeded."""
    if job.state != JobState.SUCCEEDED:
        raise CliError(f"The job of the measurement ended as {job.state}. {job.error}", code="job_failed")
