"""Deleting a source, or one version of it: its documents in batches, then the row itself."""

from typing import Any

from django.db import transaction
from django.db.models import F

from ingest.blob_cleanup import release_blobs
from ingest.connectors.git.local_copy import remove_orphans, remove_repository
from ingest.jobs.queue.context import Ending, Work
from ingest.models import UPLOAD_KINDS, Job, JobItem, WebPage
from kebab.stack.supervisor import worker_stop
from search.corpus import delete_documents
from search.models import Document, Source, SourceVersion

_BATCH = 200


def run(work: Work) -> Ending:
    """Delete the job's source with all that came from it; cancelling leaves what isn't deleted yet."""
    source = work.job.source
    if source is None:  # an attempt before this one had deleted it, and perhaps no more
        remove_orphans(work.workspace.pk)
        return Ending.DONE
    ending = _delete_in_batches(work, _documents(work).filter(source=source.pk))
    if ending is not None:
        return ending
    _delete_itself(work, source)
    remove_repository(work.workspace.pk, source.pk)
    return Ending.DONE


def run_version(work: Work) -> Ending:
    """Delete the version that the job names with its documents; cancelling leaves what isn't deleted yet."""
    tag = work.job.payload["version"]
    versions = SourceVersion.objects.in_workspace(work.workspace).filter(source=work.job.source_id, tag=tag)
    version = versions.first()
    if version is None:
        return Ending.DONE
    documents = _documents(work).filter(version=version.pk)
    ending = _delete_in_batches(work, documents)
    if ending is not None:
        return ending
    uploads = _uploads(work).filter(source=work.job.source_id, payload__version=tag)
    _delete_row(work, versions, documents, uploads)
    return Ending.DONE


def _delete_in_batches(work: Work, documents: Any) -> Ending | None:
    """Delete the documents; what kept it from deleting all: the job's end, or the worker's, was asked for."""
    work.lease.write(items_total=F("items_done") + documents.count())
    while batch := dict(documents.order_by("id").values_list("doc_id", "content_hash")[:_BATCH]):
        if work.is_cancelled:
            return Ending.CANCELLED
        if worker_stop.is_asked():
            return Ending.YIELDED
        with transaction.atomic():
            work.lease.write(items_done=F("items_done") + len(batch), stalled_attempts=0)
            delete_documents(work.workspace, list(batch))
        release_blobs(work.workspace.pk, batch.values())
    return None


def _delete_itself(work: Work, source: Source) -> None:
    pages = WebPage.objects.in_workspace(work.workspace).filter(source=source.pk).exclude(content_hash="")
    remembered = list(pages.values_list("content_hash", flat=True))
    sources = Source.objects.in_workspace(work.workspace).filter(pk=source.pk)
    _delete_row(
        work, sources, _documents(work).filter(source=source.pk), _uploads(work).filter(source=source.pk)
    )
    release_blobs(work.workspace.pk, remembered)


def _delete_row(work: Work, rows: Any, documents: Any, uploads: Any) -> None:
    """Delete the row, and what a worker that was still at it has written since: the log must say so.

    The bytes of `uploads` go too, whether or not they became documents.
    """
    with transaction.atomic():
        rows.select_for_update().first()  # from here on nothing can be added to it
        found = documents.values_list("content_hash", flat=True)
        members = JobItem.objects.in_workspace(work.workspace).filter(job__in=uploads.values("pk"))
        blobs = {
            *found,
            *uploads.values_list("payload__blob", flat=True),
            *members.exclude(blob="").values_list("blob", flat=True),
        }
        work.lease.write(current_path="")
        delete_documents(work.workspace, list(documents.values_list("doc_id", flat=True)))
        rows.delete()
    release_blobs(work.workspace.pk, blobs)


def _documents(work: Work) -> Any:
    return Document.objects.in_workspace(work.workspace)


def _uploads(work: Work) -> Any:
    return Job.objects.in_workspace(work.workspace).filter(kind__in=UPLOAD_KINDS)
