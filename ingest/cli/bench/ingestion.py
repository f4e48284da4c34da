"""How fast documents become searchable, lexically and by their vectors, and a single one among them."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

from ingest.cli.bench.figures import Figure, percentile
from ingest.cli.following import await_end, follow
from ingest.cli.targets import IngestRequest, request_ingest
from ingest.jobs.request import request_embedding
from ingest.models import Job, JobState
from ingest.uploads import Upload, accept_upload
from kebab.cli.errors import CliError
from kebab.people.models import Workspace
from kebab.people.reader import OPERATOR
from search import node
from search.embedding import configured_embedder, embedded_text
from search.models import Chunk

_UPLOADS = 20
_WARM_UPS = 4
_EMBEDDED_ALONE = 1_000
_EMBEDDED_ALONE_S = 15.0
_BATCH = 64
# The polls are part of what is measured: they have to be fine.
_POLL_S = 0.005
_SEARCHABLE_LIMIT_S = 60.0


def ingest_figures(workspace: Workspace, folder: Path, console: Console) -> list[Figure]:
    """Ingest `folder`, then embed it, and give both rates beside the embedder's own."""
    started = time.perf_counter()
    job = follow(request_ingest(workspace, _asked(folder)), console, "Ingesting")
    _check(job)
    workspace.refresh_from_db()
    node.wait_for_seq(workspace.pk, workspace.head_seq, limit_s=_SEARCHABLE_LIMIT_S)
    searchable_s = time.perf_counter() - started
    chunks = Chunk.objects.in_workspace(workspace).count()
    lexical = Figure(
        name="ingest to searchable", value=chunks / searchable_s, unit="chunks/s", budget="at least 1,500"
    )
    return [lexical, *_embedding_figures(workspace, chunks, searchable_s, console)]


def warm_up(workspace: Workspace) -> None:
    """Return once the workers work: a stack that has just been started is not what is measured."""
    _uploads_s(workspace, "warm-up", _WARM_UPS)


def upload_figure(workspace: Workspace) -> Figure:
    """Give the median time from an upload's request until this node finds it."""
    median_s = percentile(_uploads_s(workspace, "upload", _UPLOADS), 50)
    return Figure(name="upload to searchable, median", value=median_s * 1000, unit="ms", budget="at most 500")


def _uploads_s(workspace: Workspace, name: str, number_of_uploads: int) -> list[float]:
    seconds = []
    for number in range(number_of_uploads):
        text = f"# {name.capitalize()} {number}\n\nA small page on subject {number}, to be found at once.\n"
        path = f"{name}-{number}.md"
        upload = Upload(source="bench-uploads", path=path, version="", content=text.encode(), embed=False)
        started = time.perf_counter()
        asked = accept_upload(workspace, upload, reader=OPERATOR, requested_by="")
        job = await_end(asked.job, poll_s=_POLL_S)
        _check(job)
        node.wait_for_seq(workspace.pk, job.seq or 0, limit_s=_SEARCHABLE_LIMIT_S)
        seconds.append(time.perf_counter() - started)
    return seconds


def _asked(folder: Path) -> IngestRequest:
    return IngestRequest(path=folder, source="bench", embed=False)


def _embedding_figures(
    workspace: Workspace, chunks: int, searchable_s: float, console: Console
) -> list[Figure]:
    alone = _embedder_alone(workspace)
    if alone is None:
        return [Figure(name="embedder", value=None, unit="chunks/s", note="KEBAB_EMBEDDER is none")]
    started = time.perf_counter()
    _check(follow(request_embedding(workspace.pk), console, "Embedding"))
    embedding_s = time.perf_counter() - started
    behind = chunks / embedding_s
    return [
        Figure(name="embedder alone, same text", value=alone, unit="chunks/s"),
        Figure(
            name="embedding job",
            value=behind,
            unit="chunks/s",
            budget="at least 90 % of alone",
            note=f"{behind / alone:.0%} of alone",
        ),
        Figure(name="ingest to embedded", value=chunks / (searchable_s + embedding_s), unit="chunks/s"),
    ]


def _embedder_alone(workspace: Workspace) -> float | None:
    """Embed a sample of the very text, in batches as the job does, for at most fifteen seconds."""
    embedder = configured_embedder()
    if embedder is None:
        return None
    sample = Chunk.objects.in_workspace(workspace).order_by("chunk_id")
    rows = sample.values_list("breadcrumb", "text")[:_EMBEDDED_ALONE]
    texts = [embedded_text(breadcrumb, text) for breadcrumb, text in rows]
    embedder.embed_passages(texts[:1])  # loads the model
    embedded, started = 0, time.perf_counter()
    for batch in _batches(texts):
        embedder.embed_passages(batch)
        embedded += len(batch)
        if time.perf_counter() - started > _EMBEDDED_ALONE_S:
            break
    return embedded / (time.perf_counter() - started)


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    return (texts[start : start + _BATCH] for start in range(0, len(texts), _BATCH))


def _check(job: Job) -> None:
    if job.state != JobState.SUCCEEDED:
        raise CliError(f"The job of the measurement ended as {job.state}. {job.error}", code="job_failed")
