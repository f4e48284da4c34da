"""Deleting a source: its documents in batches, then the source itself."""

from django.db import transaction
from django.db.models import F

from ingest.blobs import release_blobs
from ingest.jobs.work import Ending, Work
from ingest.models import Job, JobKind
from search.corpus import delete_documents
from search.models import Document, Source

_BATCH = 200


def run(work: Work) -> Ending:
    """Delete the job's source with all that came from it; cancelling leaves what isn't deleted yet."""
    source = work.job.source
    if source is None:
        return Ending.DONE
    documents = Document.objects.in_workspace(work.workspace).filter(source=source.pk)
    work.lease.write(items_total=F("items_done") + documents.count())
    while batch := dict(documents.order_by("id").values_list("doc_id", "content_hash")[:_BATCH]):
        if work.is_cancelled:
            return Ending.CANCELLED
        with transaction.atomic():
            work.lease.write(items_done=F("items_done") + len(batch), stalled_attempts=0)
            delete_documents(work.workspace, list(batch))
        release_blobs(work.workspace.pk, batch.values())
    _delete_itself(work, source)
    return Ending.DONE


def _delete_itself(work: Work, source: Source) -> None:
    """Delete the source, and what a worker that was still at it has written since: the log must say so."""
    sources = Source.objects.in_workspace(work.workspace).filter(pk=source.pk)
    with transaction.atomic():
        sources.select_for_update().first()  # from here on nothing can be added to it
        left = Document.objects.in_workspace(work.workspace).filter(source=source.pk)
        blobs = {*left.values_list("content_hash", flat=True), *_other_blobs(work, source)}
        work.lease.write(current_path="")
        delete_documents(work.workspace, list(left.values_list("doc_id", flat=True)))
        sources.delete()
    release_blobs(work.workspace.pk, blobs)


def _other_blobs(work: Work, source: Source) -> set[str]:
    """Give the names of what was uploaded to the source, whether or not it became a document."""
    uploads = Job.objects.in_workspace(work.workspace).filter(source=source.pk, kind=JobKind.INGEST_DOCUMENT)
    return set(uploads.values_list("payload__blob", flat=True))
