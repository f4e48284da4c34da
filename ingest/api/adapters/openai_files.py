"""OpenAI's files, and the files of vector stores: a file is an uploaded document of a workspace.

https://platform.openai.com/docs/api-reference/files and …/vector-stores-files
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Final

from django.http import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from ingest.api.adapters.stored_files import STATUSES, StoredFile, find_file, list_files, uploads
from ingest.api.documents.serializers import UploadParser, check_size
from ingest.api.documents.views import CHANGE
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
from kebab.http.api.serializers import StrictSerializer
from kebab.identity.caller import Access, Need, caller_access, caller_accesses
from kebab.tenancy.current_workspace import acting_in
from kebab.uuids import parse_uuid
from search.api.adapters.openai import FILE, MAX_ATTRIBUTES, MAX_NAME_CHARS, MAX_VALUE_CHARS, OpenAiView
from search.api.content import CONTENT_RESPONSES, content_response
from search.api.querysets import chunks_of, readable_documents, use_document_bytes
from search.api.search import READ
from search.corpus import DocumentLocation, ensure_version

_PROJECT: Final = "OpenAI-Project"
_MAX_WORKSPACES: Final = 100
_PURPOSES: Final = ("assistants", "user_data")


class UploadedFileBody(serializers.Serializer[Any]):
    """A file to upload; what later versions add is ignored."""

    file = serializers.FileField()
    purpose = serializers.CharField(required=False)


class FilesQuery(StrictSerializer):
    """The parameters of a list; `after` is the id of a file."""

    limit = serializers.IntegerField(min_value=1, max_value=10_000, default=1_000)
    order = serializers.ChoiceField(["asc", "desc"], default="desc", help_text="By time.")
    after = serializers.CharField(required=False, help_text="List what follows this file.")
    purpose = serializers.CharField(required=False, help_text="Files are there for assistants only.")


class StoreFilesQuery(StrictSerializer):
    """The parameters of a list; `after` and `before` are ids of files."""

    limit = serializers.IntegerField(min_value=1, max_value=100, default=20)
    order = serializers.ChoiceField(["asc", "desc"], default="desc", help_text="By time.")
    after = serializers.CharField(required=False, help_text="List what follows this file.")
    before = serializers.CharField(required=False, help_text="List what precedes this file.")
    filter = serializers.ChoiceField(STATUSES, required=False)


class Attributes(serializers.Serializer[Any]):
    """The attributes of a file."""

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


class AttachedFile(Attributes):
    """A file to attach; the chunking strategy is Kebab's own."""

    file_id = serializers.CharField()


class FilesOfWorkspaceView(OpenAiView):
    """A view of files of a workspace."""

    def enter(self, store: str | None = None, need: Need = CHANGE) -> Access:
        """Return the access to a workspace: the given one, that of the header, or the only one.

        Raises NotFound, Forbidden, InvalidRequest.
        """
        named = store or self.request.headers.get(_PROJECT)
        access = caller_access(self.caller, named) if named else self._only_access(need)
        need.check(access)
        self.acting.enter_context(acting_in(access.workspace.pk))
        return access

    def _only_access(self, need: Need) -> Access:
        every = caller_accesses(self.caller, limit=_MAX_WORKSPACES)
        found = [access for access in every if need.allows(access)]
        if len(found) > 1:
            raise InvalidRequest(f"You may use several workspaces; name one in the header {_PROJECT}.")
        if not every:
            raise NotFound
        return (found or every)[0]


class FilesView(FilesOfWorkspaceView):
    """Uploads."""

    parser_classes = (UploadParser,)
    queries: ClassVar = {"GET": FilesQuery}

    @extend_schema(responses={200: {"type": "object"}})
    def get(self, request: Request) -> Response:
        """List the documents of the workspace, and the uploads that have not become one."""
        access = self.enter(need=READ)
        purpose = self.query.get("purpose", _PURPOSES[0])
        found, has_more = list_files(access, self.query) if purpose in _PURPOSES else ([], False)
        return Response(page_of_files([_file_body(file, purpose, 0) for file in found], has_more))

    @extend_schema(request={"multipart/form-data": UploadedFileBody}, responses={200: {"type": "object"}})
    def post(self, request: Request) -> Response:
        """Upload a file; it becomes a document, and replaces one of the same name."""
        access = self.enter()
        given = clean_body(UploadedFileBody, request)
        name, content = given["file"].name, check_size(given["file"].read())
        upload = Upload(source=UPLOADS, path=name, version="", content=content)
        job = accept_upload(access.workspace, upload, reader=access.reader, requested_by=access.actor).job
        file = StoredFile(id=f"{FILE}{job.payload['doc_id']}", document=None, job=job)
        return Response(_file_body(file, given.get("purpose", "assistants"), len(content)))


class FileView(FilesOfWorkspaceView):
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


class FileContentView(FilesOfWorkspaceView):
    """The bytes of a file."""

    @extend_schema(responses=CONTENT_RESPONSES)
    def get(self, request: Request, file_id: str) -> HttpResponseBase:
        """Return the original file."""
        access = self.enter(need=READ)
        doc_id = find_file(access, file_id).doc_id
        return use_document_bytes(access.workspace, access.reader, doc_id, partial(content_response, request))


class StoreFilesView(FilesOfWorkspaceView):
    """The files of a workspace."""

    parser_classes = (StrictJSONParser,)

    queries: ClassVar = {"GET": StoreFilesQuery}

    @extend_schema(responses={200: {"type": "object"}})
    def get(self, request: Request, store: str) -> Response:
        """List the files of a workspace."""
        access = self.enter(store, READ)
        found, has_more = list_files(access, self.query, self.query.get("filter"))
        return Response(page_of_files([store_file_body(access, file) for file in found], has_more))

    @extend_schema(request=AttachedFile, responses={200: {"type": "object"}})
    def post(self, request: Request, store: str) -> Response:
        """Attach a file, which is in its workspace already; its attributes become metadata."""
        access = self.enter(store)
        given = clean_body(AttachedFile, request)
        file = find_file(access, given["file_id"])
        attributes = given.get("attributes", {})
        file = state_attributes(access, file, attributes) if attributes else file
        return Response(store_file_body(access, file, attributes))


class StoreFileView(FilesOfWorkspaceView):
    """One file of a workspace."""

    @extend_schema(responses={200: {"type": "object"}})
    def get(self, request: Request, store: str, file_id: str) -> Response:
        """Return the status of a file."""
        access = self.enter(store)
        file = find_file(access, file_id)
        return Response(store_file_body(access, file))

    @extend_schema(request=Attributes, responses={200: {"type": "object"}})
    def post(self, request: Request, store: str, file_id: str) -> Response:
        """Replace the attributes of a file, which become metadata."""
        access = self.enter(store)
        attributes = clean_body(Attributes, request).get("attributes", {})
        file = state_attributes(access, find_file(access, file_id), attributes)
        return Response(store_file_body(access, file, attributes))

    @extend_schema(responses={200: {"type": "object"}})
    def delete(self, request: Request, store: str, file_id: str) -> Response:
        """Detach a file, which deletes it: a document is in no other workspace."""
        _delete(self.enter(store), file_id)
        return Response({"id": file_id, "object": "vector_store.file.deleted", "deleted": True})


class StoreFileContentView(FilesOfWorkspaceView):
    """The text of a file."""

    @extend_schema(responses={200: {"type": "object"}})
    def get(self, request: Request, store: str, file_id: str) -> Response:
        """Return the passages of a document in its order; none before it has been read."""
        access = self.enter(store, READ)
        doc_id = find_file(access, file_id).doc_id
        texts = chunks_of(access.workspace, access.reader, doc_id).order_by("ordinal", "chunk_id")
        passages = [{"type": "text", "text": text} for text in texts.values_list("text", flat=True)]
        page = {"object": "vector_store.file_content.page", "data": passages}
        return Response({**page, "has_more": False, "next_page": None})


def state_attributes(access: Access, file: StoredFile, attributes: Mapping[str, Any]) -> StoredFile:
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
    cancel_uploads(access, uploads(access).filter(file=doc_id.hex))
    document = readable_documents(access.workspace, access.reader).filter(doc_id=doc_id).first()
    if document is not None:
        delete_document(access, document)


def _file_body(file: StoredFile, purpose: str, size_bytes: int) -> dict[str, Any]:
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


def store_file_body(
    access: Access, file: StoredFile, attributes: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return a file of a store with these attributes, or else with those that it has."""
    if attributes is None:
        attributes = (file.document.overrides.get("metadata") if file.document is not None else None) or {}
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


def page_of_files(files: Sequence[Mapping[str, Any]], has_more: bool) -> dict[str, Any]:
    """Return a page of a list."""
    ends = {"first_id": files[0]["id"], "last_id": files[-1]["id"]} if files else {}
    return {"object": "list", "data": files, "first_id": None, "last_id": None, **ends, "has_more": has_more}


def clean_body(serializer: type[serializers.Serializer[Any]], request: Request) -> dict[str, Any]:
    """Return the fields of a body. Raises ValidationError."""
    body = serializer(data=request.data)
    body.is_valid(raise_exception=True)
    return dict(body.validated_data)
