"""Cutting the uploads of a version again, from the bytes that are kept of them.

A folder, a repository or a site is synced instead: the sync finds what is cut otherwise than it is to be.
"""

from django.db import transaction
from django.db.models.functions import Now

from ingest.chunking.types import chunker_version
from ingest.connectors.types import ItemContent
from ingest.errors import JobFailed
from ingest.jobs.items.chunk_size import chunk_tokens_of
from ingest.jobs.items.worker import ItemWorker
from ingest.jobs.queue.context import Ending, Work
from ingest.jobs.queue.request import request_rechunking, request_sync
from ingest.models import JobItem
from kebab.people.models import Workspace
from search.corpus import Place, ensure_version
from search.corpus.blobs import read_blob
from search.models import Document, SourceKind, SourceVersion

# Rows a statement when items are written.
_BATCH = 2_000


def request_new_chunks(workspace: Workspace, *, requested_by: str = "") -> None:
    """Ask for the jobs that cut every document of the workspace as its settings say now."""
    versions = SourceVersion.objects.in_workspace(workspace).select_related("source").order_by("pk")
    for version in versions.filter(source__workspace=workspace):
        if version.source.kind == SourceKind.UPLOAD:
            request_rechunking(version, requested_by=requested_by)
        else:
            request_sync(version.source, version=version.tag, requested_by=requested_by)


def run(work: Work) -> Ending:
    """Cut what is cut otherwise than it is to be. Raises JobFailed when the source is gone."""
    source = work.job.source
    if source is None:
        raise JobFailed("The source was deleted before its documents were cut again.")
    version = ensure_version(source, work.job.payload["version"])
    if work.job.discovered_at is None:
        _discover(work, version)

    def read(item: JobItem) -> ItemContent:
        place = Place(workspace=work.workspace, source=source, version=version, path=item.path)
        return _kept(work, place)

    return ItemWorker(work, source, version, read).run()


def _discover(work: Work, version: SourceVersion) -> None:
    wanted = chunker_version(chunk_tokens_of(work.workspace))
    documents = Document.objects.in_workspace(work.workspace).filter(version=version)
    paths = documents.exclude(chunker_version=wanted).order_by("pk").values_list("path", flat=True)
    with transaction.atomic():
        JobItem.objects.bulk_create(
            [
                JobItem(workspace=work.workspace, job=work.job, path=path, action="ingest")
                for path in paths.iterator(chunk_size=_BATCH)
            ],
            batch_size=_BATCH,
            ignore_conflicts=True,  # what was deleted meanwhile has an item in the way
        )
        items = JobItem.objects.in_workspace(work.workspace).filter(job=work.job.pk).count()
        work.lease.write(discovered_at=Now(), items_total=items, stalled_attempts=0)


def _kept(work: Work, place: Place) -> ItemContent:
    """Return the document's bytes as of the time they came. Raises FileNotFoundError when it is gone."""
    document = Document.objects.in_workspace(work.workspace).filter(doc_id=place.doc_id).first()
    if document is None:
        raise FileNotFoundError(place.path)
    return ItemContent(
        content=read_blob(work.workspace.pk, document.content_hash),
        mtime_ns=document.source_mtime_ns,
        revision=document.source_revision,
        requested_at=document.requested_at,
        stated=dict(document.overrides),
    )
