"""`/workspaces/{ws}/documents`: listing, uploading, changing and deleting."""

import uuid
from typing import Any, ClassVar

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from ingest.api.documents.parsers import FORM_OVERHEAD_BYTES, UploadParser
from ingest.api.documents.serializers import (
    AcceptedSerializer,
    DocumentChange,
    DocumentsQuery,
    NewFile,
    NewText,
    PlacedDocumentSerializer,
    WaitQuery,
    read_upload,
)
from ingest.api.jobs.serializers import JobSerializer
from ingest.api.querysets import check_kept_answer, job_address, listed_documents, one_job
from ingest.services.archive_uploads import ArchiveUpload, accept_archive
from ingest.services.job_wait import wait_until_searchable
from ingest.services.uploads import Accepted, Upload, accept_upload, delete_upload, restate_upload
from kebab.http.api.idempotency import idempotent
from kebab.http.api.openapi_schema import page_of
from kebab.http.api.pagination import KeysetPage
from kebab.http.api.parsers import StrictJSONParser
from kebab.http.api.permissions import Need
from kebab.http.api.serializers import strict_body
from kebab.http.api.views import WorkspaceView
from kebab.people import audit
from kebab.people.access.caller import Access
from kebab.people.models import Role, Scope
from search.api.documents import READ, DocumentView
from search.api.querysets import one_document
from search.api.serializers import DocumentSerializer
from search.corpus import Place

_CHANGE = Need(role=Role.EDITOR, scope=Scope.INGEST)


class DocumentsView(WorkspaceView):
    """The documents of a workspace."""

    parser_classes = (StrictJSONParser, UploadParser)
    required: ClassVar = {"GET": READ, "POST": _CHANGE}
    queries: ClassVar = {"GET": DocumentsQuery, "POST": WaitQuery}

    @property
    def body_limit_bytes(self) -> int:  # type: ignore[override]  # the limit is a setting
        """Return the most bytes a JSON body may have."""
        return settings.KEBAB_UPLOAD_LIMIT_BYTES + FORM_OVERHEAD_BYTES

    @extend_schema(responses=page_of(DocumentSerializer))
    def get(self, request: Request, ws: str) -> Response:
        """List the documents in the order in which they came."""
        page = KeysetPage.requested(self, ordering=("id",))
        documents = listed_documents(self.access, self.query)
        return page.response(documents, lambda row: DocumentSerializer(row).data)

    @extend_schema(
        request={"multipart/form-data": NewFile, "application/json": NewText},
        responses={201: AcceptedSerializer, 202: AcceptedSerializer},
    )
    @idempotent(recheck=check_kept_answer)
    def post(self, request: Request, ws: str) -> Response:
        """Upload a document, or an archive of documents; one with the same path is replaced.

        202 with the job that ingests it; with `wait_for=searchable` 201 once it is found, 422 if it can't be
        ingested, and still 202 when that takes too long.
        """
        accepted = accept(self.access, read_upload(request))
        return _answer(self.access, accepted, is_waiting="wait_for" in self.query, done_status=201)


class OneDocumentView(DocumentView):
    """One document, for reading and changing."""

    required: ClassVar = {"GET": READ, "PATCH": _CHANGE, "DELETE": _CHANGE}
    queries: ClassVar = {"PATCH": WaitQuery}

    @extend_schema(request=DocumentChange, responses={200: AcceptedSerializer, 202: AcceptedSerializer})
    def patch(self, request: Request, ws: str, doc_id: uuid.UUID) -> Response:
        """State other things about an uploaded document; null takes a statement back.

        It is ingested again in a job: its title is part of its chunks' breadcrumbs.
        """
        document = one_document(self.workspace, self.access.reader, doc_id)
        changes = strict_body(request, DocumentChange)
        accepted = restate_upload(document, changes, requested_by=self.access.actor)
        return _answer(self.access, accepted, is_waiting="wait_for" in self.query, done_status=200)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, ws: str, doc_id: uuid.UUID) -> Response:
        """Delete an uploaded document. The header `Kebab-Seq` names the change that does so."""
        document = one_document(self.workspace, self.access.reader, doc_id)
        with transaction.atomic():
            audit.record(
                self.access, "document.deleted", document.path, id=doc_id.hex, source=document.source.key
            )
            seq = delete_upload(document)
        return Response(status=204, headers={"Kebab-Seq": str(seq)})


def accept(access: Access, upload: Upload | ArchiveUpload) -> Accepted:
    """Take in what was handed in. Raises what `accept_upload` and `accept_archive` raise."""
    asked: Any = {"reader": access.reader, "requested_by": access.actor}
    if isinstance(upload, ArchiveUpload):
        return Accepted(place=None, job=accept_archive(access.workspace, upload, **asked))
    return accept_upload(access.workspace, upload, **asked)


def _answer(access: Access, accepted: Accepted, *, is_waiting: bool, done_status: int) -> Response:
    ended = wait_until_searchable(accepted.job) if is_waiting else None
    place = accepted.place
    body = {
        "document": None if place is None else PlacedDocumentSerializer(place).data,
        "job": JobSerializer(one_job(access, accepted.job.pk)).data,
        "seq": None if ended is None else ended.seq,
    }
    if ended is None:
        return Response(body, status=202, headers={"Location": job_address(access, accepted.job)})
    location = _place_address(access, place) if place is not None else job_address(access, accepted.job)
    return Response(body, status=done_status, headers={"Location": location})


def _place_address(access: Access, place: Place) -> str:
    return reverse("api-document", kwargs={"ws": access.workspace.slug, "doc_id": place.doc_id})
