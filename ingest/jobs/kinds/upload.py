"""Ingesting one uploaded document from its blob."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from ingest.connectors.types import ItemContent
from ingest.errors import JobFailed
from ingest.jobs.items.worker import ItemWorker
from ingest.jobs.queue.context import Ending, Work
from ingest.models import JobItem
from search.corpus import ensure_version
from search.corpus.blobs import read_blob

#: What a person may state about a document, and the payload carries.
STATED = ("title", "lang", "tags", "trust_level", "metadata")


def stated_in(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an upload's payload states about its documents."""
    return {name: payload[name] for name in STATED if payload.get(name) is not None}


def uploaded(work: Work, blob: str) -> ItemContent:
    """Return kept bytes with what their upload states. Raises OSError when they are gone."""
    try:
        content = read_blob(work.workspace.pk, blob)
    except FileNotFoundError as error:  # as which it would be skipped: gone from where it was listed
        raise OSError("The bytes of this upload are gone; upload it again.") from error
    job = work.job
    return ItemContent(content=content, requested_at=job.created_at, stated=stated_in(job.payload))


def run(work: Work) -> Ending:
    """Ingest the job's document. Raises JobFailed when its source is gone."""
    source = work.job.source
    if source is None:
        raise JobFailed("The source of this document was deleted before it was ingested.")
    version = ensure_version(source, work.job.payload.get("version", ""))
    return ItemWorker(work, source, version, partial(_read, work)).run()


def _read(work: Work, item: JobItem) -> ItemContent:
    return uploaded(work, work.job.payload["blob"])
