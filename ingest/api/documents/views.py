"""`/workspaces/{ws}/documents`: list, upload, change and delete documents."""

import uuid
from typing import Any, ClassVar, Final

from django.conf import settings
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from ingest.api.documents.serializers import (
    FORM_OVERHEAD_BYTES,
    AcceptedSerializer,
    DocumentChange,
    DocumentsQuery,
    NewFile,
    NewText,
    PlacedDocumentSerializer,
    UploadParser,
    WaitQuery,
    parse_upload,
)
from ingest.api.jobs.serializers import JobSerializer
from ingest.api.querysets import check_replay, filter_documents, get_job, job_address
from ingest.models import Job
from ingest.services.archive_uploads import ArchiveUpload, accept_archive
from ingest.services.jobs import wait_until_searchable
from ingest.services.uploads import AcceptedUpload, Upload, accept_upload, delete_document, update_document
from kebab.http.api.idempotency import idempotent
from kebab.http.api.openapi_schema import page_of
from kebab.http.api.parsers import StrictJSONParser
from kebab.http.api.serializers import strict_body
from kebab.http.api.views import KeysetPage, WorkspaceView
from kebab.identity.caller import Access, Need
from kebab.identity.models import Role, TokenScope
from search.api.documents import READ, DocumentView
from search.api.querysets import get_document
from search.api.serializers import DocumentSerializer
from search.corpus.seq_tokens import read_seq_token

CHANGE = Need(role=Role.EDITOR, scope=TokenScope.INGEST)
_ORDERS: Final = {
    "": ("id",),
    "path": ("natural_path", "id"),
    "date": ("dated_at", "id"),
    "-date": ("-dated_at", "-id"),
}


class DocumentsView(WorkspaceView):
    """The documents of a workspace."""

    parser_classes = (StrictJSONParser, UploadParser)
    required: ClassVar = {"GET": READ, "POST": CHANGE}
    queries: ClassVar = {"GET": DocumentsQuery, "POST": WaitQuery}

    @property
    def body_limit_bytes(self) -> int:  # type: ignore[override]  # the limit is a setting
        """Return the size limit of a JSON body."""
        return settings.KEBAB_UPLOAD_LIMIT_BYTES + FORM_OVERHEAD_BYTES

    @extend_schema(responses=page_of(DocumentSerializer))
    def get(self, request: Request, ws: str) -> Response:
        """List the documents, in the order in which they were added unless `order` is given."""
        page = KeysetPage.from_view(self, ordering=_ORDERS[self.query.get("order", "")])
        documents = filter_documents(self.access, self.query)
        return page.response(documents, lambda row: DocumentSerializer(row).data)

    @extend_schema(
        request={"application/json": NewText}, responses={201: AcceptedSerializer, 202: AcceptedSerializer}
    )
    @idempotent(recheck=check_replay)
    def post(self, request: Request, ws: str) -> Response:
        """Upload a document, or an archive of documents. A document with the same path is replaced.

        Returns 202 with the job that ingests it. With `wait_for=searchable` returns 201 once it is
        searchable, 422 if it can't be ingested, and 202 if that takes too long. A form is taken, too, as by
        `/documents/file`.
        """
        accepted = submit_upload(self.access, parse_upload(request))
        return _upload_response(self.access, accepted, is_waiting="wait_for" in self.query, done_status=201)


class DocumentFileView(WorkspaceView):
    """Files as documents: a form alone, for generated clients that know one type of a body."""

    parser_classes = (UploadParser,)
    required: ClassVar = {"POST": CHANGE}
    queries: ClassVar = {"POST": WaitQuery}

    @extend_schema(
        request={"multipart/form-data": NewFile}, responses={201: AcceptedSerializer, 202: AcceptedSerializer}
    )
    @idempotent(recheck=check_replay)
    def post(self, request: Request, ws: str) -> Response:
        """Upload a file, or an archive of files. The answer is that of `POST /documents`."""
        accepted = submit_upload(self.access, parse_upload(request))
        return _upload_response(self.access, accepted, is_waiting="wait_for" in self.query, done_status=201)


class OneDocumentView(DocumentView):
    """One document, for reading and changing."""

    required: ClassVar = {"GET": READ, "PATCH": CHANGE, "DELETE": CHANGE}
    queries: ClassVar = {"PATCH": WaitQuery}

    @extend_schema(request=DocumentChange, responses={200: AcceptedSerializer, 202: AcceptedSerializer})
    def patch(self, request: Request, ws: str, doc_id: uuid.UUID) -> Response:
        """Change the overrides of a document; null removes an override. They outlast uploads and syncs.

        The document is ingested again in a job, since its title is part of its chunks' breadcrumbs.
        """
        document = get_document(self.workspace, self.access.reader, doc_id)
        changes = strict_body(request, DocumentChange)
        accepted = update_document(document, changes, requested_by=self.access.actor)
        return _upload_response(self.access, accepted, is_waiting="wait_for" in self.query, done_status=200)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, ws: str, doc_id: uuid.UUID) -> Response:
        """Delete an uploaded document. `Kebab-Seq` and `Kebab-Seq-Token` are headers with its change."""
        document = get_document(self.workspace, self.access.reader, doc_id)
        seq = delete_document(self.access, document)
        token = read_seq_token(self.workspace.pk, seq)
        return Response(status=204, headers={"Kebab-Seq": str(seq), "Kebab-Seq-Token": str(token)})


def submit_upload(access: Access, upload: Upload | ArchiveUpload) -> AcceptedUpload:
    """Accept a document or an archive. Raises what `accept_upload` and `accept_archive` raise."""
    request_details: Any = {"reader": access.reader, "requested_by": access.actor}
    if isinstance(upload, ArchiveUpload):
        return AcceptedUpload(place=None, job=accept_archive(access.workspace, upload, **request_details))
    return accept_upload(access.workspace, upload, **request_details)


def accepted_body(access: Access, accepted: AcceptedUpload, ended: Job | None) -> dict[str, Any]:
    """Return the body that tells of an upload and its job, which may have `ended`."""
    place = accepted.place
    document = None if place is None else PlacedDocumentSerializer(place).data
    return {"document": document, **job_body(access, accepted.job, ended)}


def job_body(access: Access, job: Job, ended: Job | None) -> dict[str, Any]:
    """Return the part of a body that tells of the job, which may have `ended`."""
    seq = None if ended is None else ended.seq
    return {
        "job": JobSerializer(get_job(access, job.pk)).data,
        "seq": seq,
        "seq_token": read_seq_token(access.workspace.pk, seq),
    }


def _upload_response(
    access: Access, accepted: AcceptedUpload, *, is_waiting: bool, done_status: int
) -> Response:
    ended = wait_until_searchable(accepted.job) if is_waiting else None
    place = accepted.place
    body = accepted_body(access, accepted, ended)
    if ended is None:
        return Response(body, status=202, headers={"Location": job_address(access, accepted.job)})
    location = (
        reverse("api-document", kwargs={"ws": access.workspace.slug, "doc_id": place.doc_id})
        if place is not None
        else job_address(access, accepted.job)
    )
    return Response(body, status=done_status, headers={"Location": location})
