"""Ingesting one uploaded document from its blob."""

from collections.abc import Mapping
from typing import Any

from ingest.blobs import UPLOADS
from ingest.connectors.types import ItemContent
from ingest.errors import JobFailed
from ingest.jobs.items import ItemWorker
from ingest.jobs.work import Ending, Work
from ingest.models import OPEN_STATES, Job, JobState
from search.blobs import read_blob
from search.corpus import ensure_version
from search.libraries.standing import note_uploads

#: What a person may state about a document, and the payload carries.
STATED = ("title", "lang", "tags", "trust_level", "metadata")


def stated_in(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Give what an upload's payload states about its documents."""
    return {name: payload[name] for name in STATED if payload.get(name) is not None}


class BlobReader:
    """Reads the one item of an upload job."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def read(self, path: str) -> ItemContent:
        """Give the uploaded bytes. Raises FileNotFoundError when the blob is gone."""
        payload = self._work.job.payload
        return ItemContent(
            content=read_blob(self._work.workspace.pk, payload["blob"]),
            requested_at=self._work.job.created_at,
            stated=stated_in(payload),
        )


def run(work: Work) -> Ending:
    """Ingest the job's document. Raises JobFailed when its source is gone."""
    source = work.job.source
    if source is None:
        raise JobFailed("The source of this document was deleted before it was ingested.")
    version = ensure_version(source, work.job.payload.get("version", ""))
    return ItemWorker(work, source, version, BlobReader(work)).run()


def note_end(job: Job, state: JobState) -> None:
    """Say in the source what its upload came to; part of the job's last transaction.

    The source is locked: of uploads that end together the last one finds none that is open.
    """
    if job.source_id is None:
        return
    uploads = Job.objects.in_workspace(job.workspace_id).filter(kind__in=UPLOADS, source=job.source_id)
    others = uploads.filter(state__in=OPEN_STATES).exclude(pk=job.pk)
    note_uploads(
        job.workspace_id,
        job.source_id,
        is_indexed=state == JobState.SUCCEEDED,
        more_follow=others.exists(),
    )
