"""Documents uploaded, updated and deleted by people. Each change of one is a job of its own."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from ingest.blob_cleanup import release_blobs
from ingest.jobs.kinds.upload import pack, stated_fields, unpack
from ingest.jobs.queue.request import request_document, request_members, request_restating
from ingest.models import MEMBER_KINDS, OPEN_STATES, UPLOAD_KINDS, ItemState, Job, JobItem, JobKind
from ingest.services.quotas import Addition, check_content, check_jobs, content_errors
from ingest.services.source_definition import ensure_upload_source
from kebab.database.transactions import run_on_commit
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
from search.models import Document, Source, SourceKind, SourceVersion

# The kinds of jobs whose payload has the path of their only document.
_ONE_DOCUMENT_KINDS = (JobKind.INGEST_DOCUMENT, JobKind.RECHUNK)


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
    sizes = _sizes_at(version, [path])
    check_content(workspace, _addition(upload, sizes.get(path)))
    place = DocumentLocation(workspace=workspace, source=source, version=version, path=path)
    blob = content_hash(upload.content)
    stated = {**_pending_fields(version, sizes).get(path, {}), **upload.stated, **_embed_field(upload)}
    store_blobs(workspace.pk, {blob: upload.content})
    with transaction.atomic():
        lock_and_store_blobs(workspace.pk, {blob: upload.content})
        return _request_ingestion(place, blob, stated, requested_by, batch=upload.batch)


def accept_uploads(
    workspace: Workspace, uploads: Sequence[Upload | Exception], *, reader: Reader, requested_by: str
) -> list[AcceptedUpload | Exception]:
    """Accept documents with normal paths: those of one version of a source, and one batch, in one job.

    Return for each, in their order, what was accepted, or the error that refused it; given errors are
    returned as they are. Of two documents of one path the later one counts.
    """
    results: list[Any] = list(uploads)
    groups: dict[Any, list[int]] = {}
    for number, upload in enumerate(uploads):
        if isinstance(upload, Upload):
            groups.setdefault((upload.source, upload.version, upload.embed, upload.batch), []).append(number)
    first_jobs: dict[str, UUID] = {}
    for (source, *_, batch), numbers in groups.items():
        batch = batch or first_jobs.get(source)
        try:
            accepted = _accept_group(
                workspace,
                [replace(results[number], batch=batch) for number in numbers],
                reader=reader,
                requested_by=requested_by,
            )
        except Exception as error:  # noqa: BLE001  # a defect in some documents must not fail the others
            accepted = [error] * len(numbers)
        for number, result in zip(numbers, accepted, strict=True):
            results[number] = result
            if isinstance(result, AcceptedUpload):
                first_jobs.setdefault(source, result.job.pk)
    return results


def _accept_group(
    workspace: Workspace, uploads: Sequence[Upload], *, reader: Reader, requested_by: str
) -> Sequence[AcceptedUpload | Exception]:
    """Accept documents that differ in path, content and stated fields only. Raises as `accept_upload`."""
    first, *others = uploads
    if not others:
        return [accept_upload(workspace, first, reader=reader, requested_by=requested_by)]
    source = ensure_upload_source(workspace, reader, first.source)
    check_batch(source, first.batch, requested_by)
    check_jobs(workspace)
    version = ensure_version(source, first.version)
    wanted: dict[str, Upload] = {}
    for upload in uploads:
        earlier = wanted.get(upload.path, upload).stated
        wanted[upload.path] = replace(upload, stated={**earlier, **upload.stated})
    sizes = _sizes_at(version, wanted)
    additions = [_addition(upload, sizes.get(path)) for path, upload in wanted.items()]
    refused = zip(wanted, content_errors(workspace, additions), strict=True)
    errors = {path: error for path, error in refused if error is not None}
    pending = _pending_fields(version, sizes)
    items = {
        path: JobItem(
            path=path,
            blob=content_hash(upload.content),
            record={**pending.get(path, {}), **upload.stated},
        )
        for path, upload in wanted.items()
        if path not in errors
    }
    if not items:
        return [errors[upload.path] for upload in uploads]
    contents = {item.blob: wanted[path].content for path, item in items.items()}
    packed = pack(contents)
    blob = content_hash(packed)
    payload = {"prefix": "", "version": version.tag, "blob": blob, **_embed_field(first)}
    store_blobs(workspace.pk, {blob: packed})
    with transaction.atomic():
        lock_blobs(workspace.pk, [blob, *contents])
        store_blobs(workspace.pk, {blob: packed})
        job = request_members(
            source,
            JobKind.INGEST_DOCUMENTS,
            payload,
            list(items.values()),
            requested_by=requested_by,
            batch=first.batch,
        )
    return [
        errors.get(upload.path)
        or AcceptedUpload(
            place=DocumentLocation(workspace=workspace, source=source, version=version, path=upload.path),
            job=job,
        )
        for upload in uploads
    ]


def _sizes_at(version: SourceVersion, paths: Collection[str]) -> dict[str, int]:
    """Return the sizes of the documents of a version at these paths."""
    there = Document.objects.in_workspace(version.workspace_id).filter(version=version.pk, path__in=paths)
    return dict(there.values_list("path", "size_bytes"))


def _addition(upload: Upload, replaced_bytes: int | None) -> Addition:
    return Addition(is_new=replaced_bytes is None, size_bytes=len(upload.content) - (replaced_bytes or 0))


def _embed_field(upload: Upload) -> dict[str, bool]:
    return {} if upload.embed else {"embed": False}


def update_document(document: Document, changes: Mapping[str, Any], *, requested_by: str) -> AcceptedUpload:
    """Request ingestion of the document with other stated fields; None removes a field.

    If an upload to the same path still waits, that upload is updated. Raises Conflict when the bytes are
    gone.
    """
    check_jobs(document.workspace)
    place = DocumentLocation(
        workspace=document.workspace, source=document.source, version=document.version, path=document.path
    )
    pending = _open_payloads(place.version, [place.path]).get(place.path, {})
    return _restate(place, {"blob": document.content_hash, **pending}, changes, requested_by)


def update_pending_upload(
    place: DocumentLocation, changes: Mapping[str, Any], *, requested_by: str
) -> AcceptedUpload:
    """Request ingestion of an upload whose job has not ended, with other stated fields.

    Raises NotFound if none waits, Conflict when the bytes are gone.
    """
    pending = _open_payloads(place.version, [place.path]).get(place.path)
    if not pending:
        raise NotFound
    return _restate(place, pending, changes, requested_by)


def _restate(
    place: DocumentLocation, base: Mapping[str, Any], changes: Mapping[str, Any], requested_by: str
) -> AcceptedUpload:
    workspace_id, blob, stated = place.workspace.pk, base["blob"], {**stated_fields(base), **changes}
    if base.get("pack"):
        with suppress(FileNotFoundError):  # its job has ended meanwhile
            unpack(workspace_id, base["pack"])
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
    jobs = _open_jobs(document.version, _ONE_DOCUMENT_KINDS).filter(payload__path=document.path)
    jobs.update(cancel_requested=True)
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


def _open_jobs(version: SourceVersion, kinds: Collection[JobKind]) -> Any:
    return Job.objects.in_workspace(version.workspace_id).filter(
        kind__in=kinds,
        state__in=OPEN_STATES,
        source=version.source_id,
        payload__version=version.tag,
    )


def _cancel_members(document: Document) -> None:
    """Keep open jobs of many documents from creating a document at this path again."""
    archives = _open_jobs(document.version, (*MEMBER_KINDS, JobKind.RECHUNK))
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


def _pending_fields(version: SourceVersion, paths: Collection[str]) -> Mapping[str, Mapping[str, Any]]:
    """Return the fields that open jobs state about the documents there are at these paths."""
    return {path: stated_fields(payload) for path, payload in _open_payloads(version, paths).items()}


def _open_payloads(version: SourceVersion, paths: Collection[str]) -> dict[str, Mapping[str, Any]]:
    """Return, by path, the payload of the latest open upload or change of each of these documents.

    Of one that is still packed together with others it names the `pack`.
    """
    if not paths:
        return {}
    jobs = _open_jobs(version, _ONE_DOCUMENT_KINDS).filter(payload__path__in=list(paths))
    found = [
        (job.created_at, job.payload["path"], job.payload) for job in jobs.exclude(cancel_requested=True)
    ]
    members = JobItem.objects.in_workspace(version.workspace_id).filter(
        job__in=_open_jobs(version, MEMBER_KINDS).exclude(cancel_requested=True).values("pk"),
        path__in=paths,
        action="ingest",
        state=ItemState.PENDING,
    )
    for item in members.select_related("job"):
        job = item.job
        pack_blob = job.payload["blob"] if job.kind == JobKind.INGEST_DOCUMENTS else ""
        payload = {**job.payload, **item.record, "blob": item.blob, "pack": pack_blob}
        found.append((job.created_at, item.path, payload))
    return {path: payload for _, path, payload in sorted(found, key=itemgetter(0, 1))}


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
