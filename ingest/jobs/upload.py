"""Ingesting one uploaded document from its blob."""

from ingest.connectors.types import ItemContent
from ingest.errors import JobFailed
from ingest.jobs.items import ItemWorker
from ingest.jobs.work import Ending, Work
from search.blobs import read_blob
from search.corpus import ensure_version
from search.libraries.standing import note_uploads

#: What a person may state about a document, and the payload carries.
STATED = ("title", "lang", "tags", "trust_level", "metadata")


class BlobReader:
    """Reads the one item of an upload job."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def read(self, path: str) -> ItemContent:
        """Give the uploaded bytes. Raises FileNotFoundError when the blob is gone."""
        payload = self._work.job.payload
        stated = {name: payload[name] for name in STATED if payload.get(name) is not None}
        return ItemContent(
            content=read_blob(self._work.workspace.pk, payload["blob"]),
            requested_at=self._work.job.created_at,
            stated=stated,
        )


def run(work: Work) -> Ending:
    """Ingest the job's document. Raises JobFailed when its source is gone."""
    source = work.job.source
    if source is None:
        raise JobFailed("The source of this document was deleted before it was ingested.")
    version = ensure_version(source, work.job.payload.get("version", ""))
    ending = ItemWorker(work, source, version, BlobReader(work)).run()
    if ending is Ending.DONE:
        note_uploads(work.workspace.pk, source.pk)
    return ending
