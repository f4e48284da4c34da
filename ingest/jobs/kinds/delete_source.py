"""Deletion jobs of sources and versions: first the documents in batches, then the row itself."""

from typing import Any

from django.db import transaction
from django.db.models import F

from ingest.blob_cleanup import release_blobs
from ingest.connectors.git.local_copy import delete_orphans, delete_repository
from ingest.jobs.queue.context import Ending, JobContext
from ingest.models import UPLOAD_KINDS, Job, JobItem, WebPage
from search.corpus import delete_documents
from search.models import Document, Source, SourceVersion

_BATCH = 200


def run(context: JobContext) -> Ending:
    """Delete the job's source with all its documents; cancelling leaves those not deleted yet."""
    source = context.job.source
    if source is None:  # deleted by an earlier attempt, which may have ended before the clean-up
        delete_orphans(context.workspace.pk)
        return Ending.DONE
    ending = _delete_in_batches(context, _documents(context).filter(source=source.pk))
    if ending is not None:
        return ending
    _delete_source_row(context, source)
    delete_repository(context.workspace.pk, source.pk)
    return Ending.DONE


def run_version(context: JobContext) -> Ending:
    """Delete the version that the job names with its documents; cancelling leaves those not deleted yet."""
    tag = context.job.payload["version"]
    versions = SourceVersion.objects.in_workspace(context.workspace).filter(
        source=context.job.source_id, tag=tag
    )
    version = versions.first()
    if version is None:
        return Ending.DONE
    documents = _documents(context).filter(version=version.pk)
    ending = _delete_in_batches(context, documents)
    if ending is not None:
        return ending
    uploads = _upload_jobs(context).filter(source=context.job.source_id, payload__version=tag)
    _delete_row(context, versions, documents, uploads)
    return Ending.DONE


def _delete_in_batches(context: JobContext, documents: Any) -> Ending | None:
    """Delete the documents; return None, or the ending if the job or its worker was to stop before."""
    context.lease.write(items_total=F("items_done") + documents.count())
    while batch := dict(documents.order_by("id").values_list("doc_id", "content_hash")[:_BATCH]):
        if (ending := context.ending()) is not None:
            return ending
        with transaction.atomic():
            context.lease.write(items_done=F("items_done") + len(batch), stalled_attempts=0)
            delete_documents(context.workspace, list(batch))
        release_blobs(context.workspace.pk, batch.values())
    return None


def _delete_source_row(context: JobContext, source: Source) -> None:
    pages = WebPage.objects.in_workspace(context.workspace).filter(source=source.pk).exclude(content_hash="")
    remembered = list(pages.values_list("content_hash", flat=True))
    sources = Source.objects.in_workspace(context.workspace).filter(pk=source.pk)
    _delete_row(
        context,
        sources,
        _documents(context).filter(source=source.pk),
        _upload_jobs(context).filter(source=source.pk),
    )
    release_blobs(context.workspace.pk, remembered)


def _delete_row(context: JobContext, rows: Any, documents: Any, uploads: Any) -> None:
    """Delete the row, and documents that other workers have written since, so that the change log names them.

    The blobs of `uploads` are deleted too, whether or not they became documents.
    """
    with transaction.atomic():
        rows.select_for_update().first()  # from here on no document can be added to it
        found = documents.values_list("content_hash", flat=True)
        members = JobItem.objects.in_workspace(context.workspace).filter(job__in=uploads.values("pk"))
        blobs = {
            *found,
            *uploads.values_list("payload__blob", flat=True),
            *members.exclude(blob="").values_list("blob", flat=True),
        }
        context.lease.write(current_path="")
        delete_documents(context.workspace, list(documents.values_list("doc_id", flat=True)))
        rows.delete()
    release_blobs(context.workspace.pk, blobs)


def _documents(context: JobContext) -> Any:
    return Document.objects.in_workspace(context.workspace)


def _upload_jobs(context: JobContext) -> Any:
    return Job.objects.in_workspace(context.workspace).filter(kind__in=UPLOAD_KINDS)
