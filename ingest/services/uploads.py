"""Uploaded documents: taken in, described anew, deleted. Each change of one is a job of its own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from ingest.blob_cleanup import release_blobs
from ingest.jobs.kinds.upload import STATED
from ingest.jobs.queue.request import request_document
from ingest.models import OPEN_STATES, ItemState, Job, JobItem, JobKind
from ingest.services.quotas import Addition, check_content, check_jobs
from ingest.services.source_definition import upload_source
from kebab.database.on_commit import once_committed
from kebab.http.api.errors import Conflict, NotFound
from kebab.people.models import Workspace
from kebab.people.reader import Reader
from search.corpus import Place, delete_documents, ensure_version
from search.corpus.blobs import has_blob, hold_blobs, keep_blobs, secure_blobs
from search.corpus.content_ids import content_hash
from search.corpus.paths import normalise_path
from search.libraries.source_stats import refresh_standing
from search.models import Document, SourceKind, SourceVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A document as it was handed in."""

    #: Key or id of an upload source.
    source: str
    path: str
    #: '' is the default version.
    version: str
    content: bytes
    #: What is stated about it; see `ingest.jobs.kinds.upload.STATED`.
    stated: Mapping[str, Any] = field(default_factory=dict)
    #: Whether its chunks get vectors soon; else with what is embedded next.
    embed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """Where the document will be, and the job that will put it there."""

    #: None: an archive's documents go to many places.
    place: Place | None
    job: Job


def accept_upload(workspace: Workspace, upload: Upload, *, reader: Reader, requested_by: str) -> Accepted:
    """Keep the bytes and ask for their ingestion; a document at that path will be replaced.

    Raises InvalidPath, what `upload_source` raises, and RateLimited and TooLarge for a quota that is reached.
    """
    path = normalise_path(upload.path)
    source = upload_source(workspace, reader, upload.source)
    check_jobs(workspace)
    version = ensure_version(source, upload.version)
    check_content(workspace, _addition(version, path, len(upload.content)))
    place = Place(workspace=workspace, source=source, version=version, path=path)
    blob = content_hash(upload.content)
    stated = {**upload.stated, **({} if upload.embed else {"embed": False})}
    keep_blobs(workspace.pk, {blob: upload.content})
    with transaction.atomic():
        secure_blobs(workspace.pk, {blob: upload.content})
        return _ask(place, blob, stated, requested_by)


def restate_upload(document: Document, changes: Mapping[str, Any], *, requested_by: str) -> Accepted:
    """Ask for the document to be ingested again with other things stated about it; None takes one back.

    An upload to the same path that still waits is what gets restated. Raises Conflict for a folder's
    document, and when the bytes are gone.
    """
    _refuse_folder(document, "edit the file")
    check_jobs(document.workspace)
    base = _waiting_payload(document) or {"blob": document.content_hash, **document.overrides}
    stated = {name: base[name] for name in STATED if name in base} | dict(changes)
    place = Place(
        workspace=document.workspace,
        source=document.source,
        version=document.version,
        path=document.path,
    )
    with transaction.atomic():
        hold_blobs(document.workspace_id, [base["blob"]])
        if not has_blob(document.workspace_id, base["blob"]):
            raise Conflict(
                f"The bytes of {document.path!r} are gone; upload it again with what you want to state.",
                code="content_gone",
            )
        return _ask(place, base["blob"], stated, requested_by)


def delete_upload(document: Document) -> int:
    """Delete an uploaded document and give the change's number; uploads to its path that wait are dropped.

    Call it last in a transaction. Raises Conflict for a folder's document, NotFound when it is gone.
    """
    _refuse_folder(document, "delete the file, or leave it out with a .kebabignore,")
    # The document before its jobs, as their workers take them: else the two could wait for each other.
    held = Document.objects.in_workspace(document.workspace_id).filter(doc_id=document.doc_id)
    hashes = list(held.select_for_update().values_list("content_hash", flat=True))
    _waiting(document).update(cancel_requested=True)
    _drop_members(document)
    seq = delete_documents(document.workspace, [document.doc_id])
    if seq is None:
        raise NotFound
    # Bytes that can't be reached are found by the hourly look for what was forgotten.
    once_committed(release_blobs, document.workspace_id, hashes)
    once_committed(refresh_standing, document.workspace_id, document.source_id)
    return seq


def _addition(version: SourceVersion, path: str, size_bytes: int) -> Addition:
    there = Document.objects.in_workspace(version.workspace_id).filter(version=version.pk, path=path)
    replaced = there.values_list("size_bytes", flat=True).first()
    return Addition(is_new=replaced is None, size_bytes=size_bytes - (replaced or 0))


def _ask(place: Place, blob: str, stated: Mapping[str, Any], requested_by: str) -> Accepted:
    given = {name: value for name, value in stated.items() if value is not None}
    payload = {"path": place.path, "version": place.version.tag, "blob": blob, **given}
    return Accepted(place=place, job=request_document(place.source, payload, requested_by=requested_by))


def _refuse_folder(document: Document, remedy: str) -> None:
    if document.source.kind != SourceKind.UPLOAD:
        raise Conflict(
            f"{document.path!r} comes from the {document.source.kind} of source {document.source.key!r};"
            f" {remedy} and sync the source.",
            code="document_of_folder",
        )


def _waiting(document: Document) -> Any:
    return Job.objects.in_workspace(document.workspace_id).filter(
        kind=JobKind.INGEST_DOCUMENT,
        state__in=OPEN_STATES,
        cancel_requested=False,
        source=document.source_id,
        payload__path=document.path,
        payload__version=document.version.tag,
    )


def _drop_members(document: Document) -> None:
    """Have what waits, or is worked on, make no document of an archive's member, or anew, at this path."""
    archives = Job.objects.in_workspace(document.workspace_id).filter(
        kind__in=(JobKind.INGEST_ARCHIVE, JobKind.RECHUNK),
        state__in=OPEN_STATES,
        source=document.source_id,
        payload__version=document.version.tag,
    )
    # An archive whose members are not all known yet finds an item in the way of the one it would make.
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


def _waiting_payload(document: Document) -> Mapping[str, Any] | None:
    latest = _waiting(document).order_by("-created_at", "id").first()
    return None if latest is None else latest.payload
