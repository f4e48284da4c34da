"""Folders, syncs and jobs, run in the test process."""

import os
import time
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.core.files.storage import default_storage
from django.db.models.functions import Now

from ingest.jobs.queue.report import ingest_report
from ingest.jobs.queue.request import request_document, request_embedding, request_sync
from ingest.jobs.queue.run import run_job
from ingest.models import Job, JobKind
from search.corpus import ensure_source
from search.corpus.blobs import blob_name, list_blobs, store_blob
from search.models import Chunk, Document, Source

#: What no parser reads: the start of a Photoshop file.
PICTURE = b"8BPS\x00\x01" + bytes(range(200))

_clock = Counter()


class Killed(BaseException):
    """Ends a worker like a kill: no handler of Kebab catches it."""


def die(*_: object, **__: object) -> None:
    """Raise Killed."""
    raise Killed


def now_of(job: Job) -> Job:
    """Return the job as it is now."""
    return Job.objects.get(pk=job.pk)


def expire(job: Job) -> None:
    """Expire the job's lease, and make the job due."""
    Job.objects.filter(pk=job.pk).update(lease_until=Now() - timedelta(seconds=1), due_at=Now())


def fill(root: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files below `root`, each with a new modification time."""
    for path, content in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        _clock["ns"] += 1_000_000_000
        os.utime(file, ns=(_clock["ns"], _clock["ns"]))


def work(job: Job) -> Job:
    """Run the job in this process, and return its new state."""
    run_job(job.workspace_id, job.pk)
    return Job.objects.get(pk=job.pk)


def sync(source: Source, **payload: Any) -> dict[str, Any]:
    """Sync the source, and return the report."""
    job = work(request_sync(source, **payload))
    assert job.state == "succeeded", job.error
    return ingest_report(job)


def failure(source: Source, **payload: Any) -> str:
    """Sync the source, which fails, and return the error."""
    job = work(request_sync(source, **payload))
    assert job.state == "failed", job.state
    return job.error


def upload(workspace: Any, path: str, content: bytes, **stated: Any) -> Job:
    """Request the ingestion of an upload."""
    area = ensure_source(workspace, "uploads", kind="upload")
    blob = store_blob(workspace.pk, content)
    return request_document(area, {"path": path, "version": "", "blob": blob, **stated})


def grow_old(workspace: Any) -> None:
    """Set the age of all the workspace's blobs to two hours."""
    then = time.time() - 7_200
    for names in list_blobs(workspace.pk):
        for name in names:
            os.utime(default_storage.path(blob_name(workspace.pk, name)), (then, then))


def embed(workspace: Any) -> Job:
    """Embed the chunks that lack a vector, and return the job."""
    return work(request_embedding(workspace.pk))


def drop_embedding_jobs() -> None:
    """Delete the embedding jobs that syncs request, for tests that request their own."""
    Job.objects.filter(kind=JobKind.EMBED).delete()


def counts(report: Mapping[str, Any]) -> dict[str, int]:
    """Return the report's numbers that are not zero."""
    names = ("seen", "new", "updated", "unchanged", "skipped", "failed", "deleted", "parser_calls")
    return {name: report[name] for name in names if report[name]}


def indexed_texts(workspace: Any) -> dict[str, list[str]]:
    """Return the texts of every document, by path."""
    documents = Document.objects.in_workspace(workspace)
    return {
        document.path: [
            chunk.text
            for chunk in Chunk.objects.in_workspace(workspace).filter(document=document).order_by("ordinal")
        ]
        for document in documents
    }


def identities(workspace: Any) -> set[tuple[str, str, str]]:
    """Return (path, chunk id, text) of every chunk."""
    chunks = Chunk.objects.in_workspace(workspace).select_related("document")
    return {(chunk.document.path, chunk.chunk_id.hex, chunk.text) for chunk in chunks}
