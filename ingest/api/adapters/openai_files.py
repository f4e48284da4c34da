"""OpenAI's files, and the files of vector stores: a file is an uploaded document of a workspace.

https://platform.openai.com/docs/api-reference/files and …/vector-stores-files
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from ingest.api.documents.parsers import UploadParser, check_size
from ingest.api.documents.views import CHANGE
from ingest.api.querysets import readable_jobs
from ingest.jobs.queue.report import refused_item
from ingest.models import OPEN_STATES, Job, JobKind, JobState
from ingest.services.source_definition import UPLOADS
from ingest.services.uploads import (
    Upload,
    accept_upload,
    cancel_uploads,
    delete_document,
    update_document,
    update_pending_upload,
)
from kebab.errors import InvalidRequest, NotFound
from kebab.http.api.parsers import StrictJSONParser
from kebab.identity.caller import Access, caller_access, caller_accesses
from kebab.tenancy.current_workspace import acting_in
from kebab.uuids import parse_uuid
from search.api.adapters.openai import (
    FILE,
    MAX_ATTRIBUTES,
    MAX_NAME_CHARS,
    MAX_VALUE_CHARS,
    OpenAiView,
)
from search.api.querysets import readable_documents
from search.corpus import DocumentLocation, ensure_version
from search.models import Document

_PROJECT: Final = "OpenAI-Project"
_MAX_WORKSPACES: Final = 100
_UNSUPPORTED: Final = frozenset({"no_parser", "old_format", "wrong_type"})


class UploadedFileBody(serializers.Serializer[Any]):
    """A file to upload; what later versions add is ignored."""

    file = serializers.FileField()
    purpose = serializers.CharField(required=False)


class AttachedFile(serializers.Serializer[Any]):
    """A file to attach; the chunking strategy is Kebab's own."""

    file_id = serializers.CharField()
    attributes = serializers.DictField(
        child=serializers.JSONField(), required=False, allow_null=True, help_text="Metadata of the document."
    )

    def validate_attributes(self, value: dict[str, Any] | None) -> dict[str, Any]:
        """Return the attributes. Raises ValidationError for more or longer ones than OpenAI allows."""
        attributes = value or {}
        is_short = all(
            len(name) <= MAX_NAME_CHARS
            and isinstance(each, str | int | float)
            and len(str(each)) <= MAX_VALUE_CHARS
            for name, each in attributes.items()
        )
        if not is_short or len(attributes) > MAX_ATTRIBUTES:
            raise serializers.ValidationError(
                f"Give at most {MAX_ATTRIBUTES} attributes with keys of at most {MAX_NAME_CHARS} characters;"
                f" each value is a text of at most {MAX_VALUE_CHARS} characters, a number or a boolean."
            )
        return attributes


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """A file: its document, or the job that makes one or failed to."""

    id: str
    document: Document | None
    job: Job | None

    @property
    def status(self) -> str:
        """Return `completed`, `in_progress` or `failed`."""
        if self.job is not None and self.job.state in OPEN_STATES:
            return "in_progress"
        return "completed" if self.document is not None else "failed"

    @property
    def name(self) -> str:
        """Return the path of the document."""
        return self.document.path if self.document is not None else self._any_job.payload["path"]

    @property
    def created_at(self) -> int:
        """Return the seconds since 1970 of the upload, or of the document's last change."""
        at = self.document.indexed_at if self.document is not None else self._any_job.created_at
        return int(at.timestamp())

    @property
    def _any_job(self) -> Job:
        if self.job is None:
            raise ValueError("a file has a document or a job")
        return self.job

    @property
    def error(self) -> dict[str, str] | None:
        """Return why there is no document."""
        if self.status != "failed" or self.job is None:
            return None
        refused = refused_item(self.job)
        if refused is None:
            return {"code": "server_error", "message": self.job.error or f"The job {self.job.state}."}
        code = "unsupported_file" if refused.reason in _UNSUPPORTED else "invalid_file"
        return {"code": code, "message": f"{refused.reason}: {refused.detail}"}


class _FilesView(OpenAiView):
    """A view of files of the workspace that the caller may change."""

    def enter(self, store: str | None = None) -> Access:
        """Return the access to a workspace: the given one, that of the header, or the only one.

        Raises NotFound, Forbidden, InvalidRequest.
        """
        named = store or self.request.headers.get(_PROJECT)
        access = caller_access(self.caller, named) if named else self._only_access()
        CHANGE.check(access)
        self.acting.enter_context(acting_in(access.workspace.pk))
        return access

    def _only_access(self) -> Access:
        every = caller_accesses(self.caller, limit=_MAX_WORKSPACES)
        found = [access for access in every if CHANGE.allows(access)]
        if len(found) > 1:
            raise InvalidRequest(f"You may change several workspaces; name one in the header {_PROJECT}.")
        if not every:
            raise NotFound
        return (found or every)[0]


class FilesView(_FilesView):
    """Uploads."""

    parser_classes = (UploadParser,)

    @extend_schema(request={"multipart/form-data": UploadedFileBody}, responses={200: {"type": "object"}})
    def post(self, request: Request) -> Response:
        """Upload a file; it becomes a document, and replaces one of the same name."""
        access = self.enter()
        given = _clean(UploadedFileBody, request)
        name, content = given["file"].name, check_size(given["file"].read())
        upload = Upload(source=UPLOADS, path=name, version="", content=content)
        job = accept_upload(access.workspace, upload, reader=access.reader, requested_by=access.actor).job
        file = _File(id=f"{FILE}{job.payload['doc_id']}", document=None, job=job)
        return Response(_file_body(file, given.get("purpose", "assistants"), len(content)))


class FileView(_FilesView):
    """One file."""

    @extend_schema(responses={200: {"type": "object"}})
    def get(self, request: Request, file_id: str) -> Response:
        """Return a file."""
        file = find_file(self.enter(), file_id)
        return Response(_file_body(file, "assistants", 0))

    @extend_schema(responses={200: {"type": "object"}})
    def delete(self, request: Request, file_id: str) -> Response:
        """Delete a file: its document, and the uploads that wait; one that is gone already is no error."""
        _delete(self.enter(), file_id)
        return Response({"id": file_id, "object": "file", "deleted": True})


class StoreFilesView(_FilesView):
    """The files of a workspace."""

    parser_classes = (StrictJSONParser,)

    @extend_schema(request=AttachedFile, responses={200: {"type": "object"}})
    def post(self, request: Request, store: str) -> Response:
        """Attach a file, which is in its workspace already; its attributes become metadata."""
        access = self.enter(store)
        given = _clean(AttachedFile, request)
        file = find_file(access, given["file_id"])
        attributes = given.get("attributes", {})
        if attributes:
            file = _state(access, file, attributes)
        return Response(_store_file_body(access, file, attributes))


class StoreFileView(_FilesView):
    """One file of a workspace."""

    @extend_schema(responses={200: {"type": "object"}})
    def get(self, request: Request, store: str, file_id: str) -> Response:
        """Return the status of a file."""
        access = self.enter(store)
        file = find_file(access, file_id)
        stated = (file.document.overrides.get("metadata") if file.document is not None else None) or {}
        return Response(_store_file_body(access, file, stated))

    @extend_schema(responses={200: {"type": "object"}})
    def delete(self, request: Request, store: str, file_id: str) -> Response:
        """Detach a file, which deletes it: a document is in no other workspace."""
        _delete(self.enter(store), file_id)
        return Response({"id": file_id, "object": "vector_store.file.deleted", "deleted": True})


def find_file(access: Access, file_id: str) -> _File:
    """Return the file with this id. Raises NotFound."""
    doc_id = parse_uuid(file_id.removeprefix(FILE))
    if doc_id is None:
        raise NotFound(f"There is no file {file_id[:80]!r}.")
    documents = readable_documents(access.workspace, access.reader)
    document = documents.filter(doc_id=doc_id).first()
    job = _find_job(access, doc_id, is_open=True)
    if document is None and job is None:
        job = _find_job(access, doc_id, is_open=False)
        if job is None or job.cancel_requested or _is_ingested(job):
            raise NotFound(f"There is no file {file_id[:80]!r}.")
    return _File(id=f"{FILE}{doc_id.hex}", document=document, job=job)


def _find_job(access: Access, doc_id: uuid.UUID, *, is_open: bool) -> Job | None:
    uploads = _uploads(access, doc_id)
    if is_open:
        uploads = uploads.filter(state__in=OPEN_STATES, cancel_requested=False)
    else:
        uploads = uploads.exclude(state__in=OPEN_STATES)
    found: Job | None = uploads.order_by("-created_at", "id").first()
    return found


def _uploads(access: Access, doc_id: uuid.UUID) -> Any:
    jobs = readable_jobs(access).filter(kind=JobKind.INGEST_DOCUMENT, source__isnull=False)
    return jobs.filter(payload__doc_id=doc_id.hex)


def _is_ingested(job: Job) -> bool:
    return job.state == JobState.SUCCEEDED and refused_item(job) is None


def _state(access: Access, file: _File, attributes: Mapping[str, Any]) -> _File:
    """Request the ingestion of a file with these attributes as metadata; a failed one stays as it is."""
    changes = {"metadata": dict(attributes)}
    if file.document is not None:
        accepted = update_document(file.document, changes, requested_by=access.actor)
    elif file.status == "in_progress" and file.job is not None and file.job.source is not None:
        source = file.job.source
        version = ensure_version(source, file.job.payload.get("version", ""))
        place = DocumentLocation(
            workspace=access.workspace, source=source, version=version, path=file.job.payload["path"]
        )
        accepted = update_pending_upload(place, changes, requested_by=access.actor)
    else:
        return file
    return replace(file, job=accepted.job)


def _delete(access: Access, file_id: str) -> None:
    doc_id = parse_uuid(file_id.removeprefix(FILE))
    if doc_id is None:
        return
    # First the jobs: one of them may publish the document until its cancellation.
    cancel_uploads(access, _uploads(access, doc_id))
    document = readable_documents(access.workspace, access.reader).filter(doc_id=doc_id).first()
    if document is not None:
        delete_document(access, document)


def _file_body(file: _File, purpose: str, size_bytes: int) -> dict[str, Any]:
    status = {"completed": "processed", "failed": "error"}.get(file.status, "uploaded")
    error = file.error
    return {
        "id": file.id,
        "object": "file",
        "bytes": size_bytes if file.document is None else file.document.size_bytes,
        "created_at": file.created_at,
        "expires_at": None,
        "filename": file.name,
        "purpose": purpose,
        "status": status,
        "status_details": error["message"] if error else None,
    }


def _store_file_body(access: Access, file: _File, attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": file.id,
        "object": "vector_store.file",
        "created_at": file.created_at,
        "usage_bytes": 0 if file.document is None else file.document.size_bytes,
        "vector_store_id": access.workspace.slug,
        "status": file.status,
        "last_error": file.error,
        "attributes": dict(attributes),
        "chunking_strategy": {"type": "other"},
    }


def _clean(serializer: type[serializers.Serializer[Any]], request: Request) -> dict[str, Any]:
    body = serializer(data=request.data)
    body.is_valid(raise_exception=True)
    return dict(body.validated_data)
