"""Rechunk jobs: documents of a version with other chunks, or a restated one, are ingested again from blobs.

Jobs with `default_trust` read nothing: they apply the source's default trust.
"""

from django.db import transaction
from django.db.models.functions import Now

from ingest.chunking.types import chunker_version
from ingest.connectors.types import ItemContent
from ingest.jobs.items.chunk_size import chunk_tokens_of
from ingest.jobs.items.worker import ItemWorker
from ingest.jobs.kinds.upload import stated_fields
from ingest.jobs.queue.context import Ending, JobContext
from ingest.jobs.queue.request import request_rechunking
from ingest.models import JobItem
from kebab.identity.models import Workspace
from search.corpus import DocumentLocation, ensure_version
from search.corpus.blobs import read_blob
from search.corpus.trust_levels import apply_default_trust
from search.models import Document, SourceVersion

# Rows per statement when items are written.
_BATCH = 2_000


def request_new_chunks(workspace: Workspace, *, requested_by: str = "") -> None:
    """Request the jobs that chunk every document of the workspace by its present settings."""
    versions = SourceVersion.objects.in_workspace(workspace).select_related("source").order_by("pk")
    for version in versions.filter(source__workspace=workspace):
        request_rechunking(version, requested_by=requested_by)


def run(context: JobContext) -> Ending:
    """Ingest documents with another chunker version, or the one that is restated, or apply the default trust.

    Raises JobFailed when the source is gone.
    """
    source = context.source
    if "default_trust" in context.job.payload:
        while apply_default_trust(context.workspace.pk, source.pk):
            context.raise_if_stopped()
        return Ending.DONE
    version = ensure_version(source, context.job.payload["version"])
    if context.job.discovered_at is None:
        _discover(context, version)

    def read(item: JobItem) -> ItemContent:
        place = DocumentLocation(workspace=context.workspace, source=source, version=version, path=item.path)
        return _read_document(context, place)

    return ItemWorker(context, source, version, read).run()


def _discover(context: JobContext, version: SourceVersion) -> None:
    wanted = chunker_version(chunk_tokens_of(context.workspace))
    documents = Document.objects.in_workspace(context.workspace).filter(version=version)
    restated = context.job.payload.get("path")
    chosen = (
        documents.exclude(chunker_version=wanted) if restated is None else documents.filter(path=restated)
    )
    paths = chosen.order_by("pk").values_list("path", flat=True)
    with transaction.atomic():
        JobItem.objects.bulk_create(
            [
                JobItem(workspace=context.workspace, job=context.job, path=path, action="ingest")
                for path in paths.iterator(chunk_size=_BATCH)
            ],
            batch_size=_BATCH,
            ignore_conflicts=True,  # a document deleted meanwhile has an item already
        )
        items = JobItem.objects.of_job(context.job).count()
        context.lease.write(discovered_at=Now(), items_total=items, stalled_attempts=0)


def _read_document(context: JobContext, place: DocumentLocation) -> ItemContent:
    """Return the document's bytes and their times. Raises FileNotFoundError when it is gone."""
    document = Document.objects.in_workspace(context.workspace).filter(doc_id=place.doc_id).first()
    if document is None:
        raise FileNotFoundError(place.path)
    return ItemContent(
        content=read_blob(context.workspace.pk, document.content_hash),
        mtime_ns=document.source_mtime_ns,
        revision=document.source_revision,
        requested_at=context.job.created_at if "path" in context.job.payload else document.requested_at,
        stated=stated_fields(context.job.payload),
    )
