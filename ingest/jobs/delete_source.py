"""Deleting a source: its documents in batches, then the source itself."""

from django.db import transaction
from django.db.models import F

from ingest.blobs import release_blobs
from ingest.jobs.work import Ending, Work
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
    with transaction.atomic():
        work.lease.write(current_path="")
        Source.objects.in_workspace(work.workspace).filter(pk=source.pk).delete()
    return Ending.DONE
