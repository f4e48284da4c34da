"""Documents uploaded, updated and deleted by people. Each change of one is a job of its own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from ingest.blob_cleanup import release_blobs
from ingest.jobs.kinds.upload import stated_fields
from ingest.jobs.queue.request import request_document, request_restating
from ingest.models import OPEN_STATES, UPLOAD_KINDS, ItemState, Job, JobItem, JobKind
from ingest.services.quotas import Addition, check_content, check_jobs
from ingest.services.source_definition import ensure_upload_source
from kebab.database.on_commit import run_on_commit
from kebab.errors import Conflict, FieldError, InvalidRequest, NotFound
from kebab.identity.caller import Access
from kebab.identity.models import Workspace
from kebab.identity.reader import Reader
from kebab.people import audit
from search.corpus import DocumentLocation, delete_documents, ensure_version
from search.corpus.blobs import has_blob, lock_and_store_blobs, lock_blobs, store_blobs
from search.corpus.content_ids import content_hash
from search.corpus.paths import normalise_path
from search.libraries.source_stats import refresh_source_stats
from search.models import Document, Source, SourceKind


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadedFile:
    """Properties that uploads of documents and of archives share."""

    #: Key or id of an upload source.
    source: str
    #: '' is the default version.
    version: str
    #: Fields stated about each document; see `ingest.jobs.kinds.upload.STATED`.
    stated: Mapping[str, Any] = field(default_factory=dict)
    #: Whether the chunks get vectors soon; otherwise the next embedding job includes them.
    embed: bool = True
    #: The first job of the upload that this file belongs to; None for that one.
    batch: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload(UploadedFile):
    """A document to upload."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedUpload:
    """The place of the future document, and the job that will ingest it."""

    #: None: an archive's documents go to many places.
    place: DocumentLocation | None
    job: Job


def accept_upload(
    workspace: Workspace, upload: Upload, *, reader: Reader, requested_by: str
) -> AcceptedUpload:
    """Store the bytes and request their ingestion; a document at that path will be replaced.

    Raises InvalidPath, the errors of `ensure_upload_source`, and RateLimited and TooLarge for an exhausted
    quota.
    """
    path = normalise_path(upload.path)
    source = ensure_upload_source(workspace, reader, upload.source)
    check_batch(source, upload.batch, requested_by)
    check_jobs(workspace)
    version = ensure_version(source, upload.version)
    there = Document.objects.in_workspace(version.workspace_id).filter(version=version.pk, path=path)
    replaced = there.values_list("size_bytes", flat=True).first()
    addition = Addition(is_new=replaced is None, size_bytes=len(upload.content) - (replaced or 0))
    check_content(workspace, addition)
    place = DocumentLocation(workspace=workspace, source=source, version=version, path=path)
    blob = content_hash(upload.content)
    pending = {} if addition.is_new else stated_fields(_latest_open_payload(place))
    stated = {**pending, **upload.stated, **({} if upload.embed else {"embed": False})}
    store_blobs(workspace.pk, {blob: upload.content})
    with transaction.atomic():
        lock_and_store_blobs(workspace.pk, {blob: upload.content})
        return _request_ingestion(place, blob, stated, requested_by, batch=upload.batch)


def update_document(document: Document, changes: Mapping[str, Any], *, requested_by: str) -> AcceptedUpload:
    """Request ingestion of the document with other stated fields; None removes a field.

    If an upload to the same path still waits, that upload is updated. Raises Conflict when the bytes are
    gone.
    """
    check_jobs(document.workspace)
    place = DocumentLocation(
        workspace=document.workspace, source=document.source, version=document.version, path=document.path
    )
    base = _latest_open_payload(place)
    blob, stated = base.get("blob", document.content_hash), {**stated_fields(base), **changes}
    return _restate(place, blob, stated, requested_by)


def update_pending_upload(
    place: DocumentLocation, changes: Mapping[str, Any], *, requested_by: str
) -> AcceptedUpload:
    """Request ingestion of an upload whose job has not ended, with other stated fields.

    Raises NotFound if none waits, Conflict when the bytes are gone.
    """
    base = _latest_open_payload(place)
    if not base:
        raise NotFound
    return _restate(place, base["blob"], {**stated_fields(base), **changes}, requested_by)


def _restate(
    place: DocumentLocation, blob: str, stated: Mapping[str, Any], requested_by: str
) -> AcceptedUpload:
    workspace_id = place.workspace.pk
    with transaction.atomic():
        lock_blobs(workspace_id, [blob])
        if not has_blob(workspace_id, blob):
            raise Conflict(
                f"The bytes of {place.path!r} are gone; ingest it again before you state something.",
                code="content_gone",
            )
        if place.source.kind == SourceKind.UPLOAD:
            return _request_ingestion(place, blob, stated, requested_by)
        job = request_restating(place.version, place.path, stated, requested_by=requested_by)
        return AcceptedUpload(place=place, job=job)


def delete_document(access: Access, document: Document) -> int:
    """Delete an uploaded document and return the change's number. Raises as `delete_upload` does."""
    with transaction.atomic():
        facts = {"id": document.doc_id.hex, "source": document.source.key}
        audit.record(access, "document.deleted", document.path, **facts)
        return delete_upload(document)


def cancel_uploads(access: Access, jobs: QuerySet[Job]) -> None:
    """Request the cancellation of the open ones among `jobs`; none publishes its document afterwards.

    The request waits for a worker that is writing, so look for a document after this has returned. Call it
    outside a transaction that locks the document: workers lock that before their jobs.
    """
    with transaction.atomic():
        for job in jobs.filter(state__in=OPEN_STATES, cancel_requested=False):
            rows = Job.objects.in_workspace(job.workspace_id).filter(pk=job.pk, state__in=OPEN_STATES)
            if rows.update(cancel_requested=True):
                audit.record(access, "job.cancelled", str(job.pk), kind=job.kind)


def delete_upload(document: Document) -> int:
    """Delete an uploaded document and return the change's number; open uploads to its path are cancelled.

    Call it last in a transaction. Raises Conflict for a folder's document, NotFound when it is gone.
    """
    if document.source.kind != SourceKind.UPLOAD:
        raise Conflict(
            f"{document.path!r} comes from the {document.source.kind} of source {document.source.key!r};"
            " delete the file, or leave it out with a .kebabignore, and sync the source.",
            code="document_of_folder",
        )
    # Lock order as in workers: the document before its jobs. Another order could deadlock.
    held = Document.objects.in_workspace(document.workspace_id).filter(doc_id=document.doc_id)
    hashes = list(held.select_for_update().values_list("content_hash", flat=True))
    _open_jobs(document).update(cancel_requested=True)
    _cancel_members(document)
    seq = delete_documents(document.workspace, [document.doc_id])
    if seq is None:
        raise NotFound
    # Blobs that can't be deleted now are deleted by the hourly search for orphaned blobs.
    run_on_commit(release_blobs, document.workspace_id, hashes)
    run_on_commit(refresh_source_stats, document.workspace_id, document.source_id)
    return seq


def _request_ingestion(
    place: DocumentLocation,
    blob: str,
    stated: Mapping[str, Any],
    requested_by: str,
    *,
    batch: UUID | None = None,
) -> AcceptedUpload:
    named = {"path": place.path, "version": place.version.tag, "doc_id": place.doc_id.hex}
    payload = {**named, "blob": blob, **stated}
    job = request_document(place.source, payload, requested_by=requested_by, batch=batch)
    return AcceptedUpload(place=place, job=job)


def _open_jobs(place: Document | DocumentLocation) -> Any:
    return Job.objects.in_workspace(place.source.workspace_id).filter(
        kind__in=(JobKind.INGEST_DOCUMENT, JobKind.RECHUNK),
        state__in=OPEN_STATES,
        cancel_requested=False,
        source=place.source,
        payload__path=place.path,
        payload__version=place.version.tag,
    )


def _cancel_members(document: Document) -> None:
    """Keep open archive and rechunk jobs from creating a document at this path again."""
    archives = Job.objects.in_workspace(document.workspace_id).filter(
        kind__in=(JobKind.INGEST_ARCHIVE, JobKind.RECHUNK),
        state__in=OPEN_STATES,
        source=document.source_id,
        payload__version=document.version.tag,
    )
    # For archives whose members are not listed yet, an item to delete blocks the member's own item.
    unlisted = archives.filter(discovered_at=None).order_by("pk").select_for_update(no_key=True)
    JobItem.objects.bulk_create(
        [
            JobItem(workspace_id=document.workspace_id, job=job, path=document.path, action="delete")
            for job in unlisted
            if document.path.startswith(job.payload["prefix"])
        ],
        ignore_conflicts=True,
    )
    members = JobItem.objects.in_workspace(document.workspace_id).filter(
        job__in=archives.values("pk"), path=document.path, state=ItemState.PENDING
    )
    members.update(action="delete")


def _latest_open_payload(place: DocumentLocation) -> Mapping[str, Any]:
    latest = _open_jobs(place).order_by("-created_at", "id").first()
    return {} if latest is None else latest.payload


def check_batch(source: Source, batch: UUID | None, requested_by: str) -> None:
    """Raise InvalidRequest unless `batch` is the first job of an upload of the same caller to the source."""
    if batch is None:
        return
    first = Job.objects.in_workspace(source.workspace_id).filter(
        pk=batch, batch=None, source=source, kind__in=UPLOAD_KINDS, requested_by=requested_by
    )
    if not first.exists():
        message = "Give the job of your first upload to this source, or leave it out."
        raise InvalidRequest(f"batch: {message}", errors=[FieldError(field="batch", message=message)])
