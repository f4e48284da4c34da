"""OpenAI's vector stores and batches of their files: a workspace is a store.

A batch has no row: its id lists its files and the time of its creation.

https://platform.openai.com/docs/api-reference/vector-stores and …/vector-stores-file-batches
"""

import time
import uuid
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from ingest.api.adapters.openai_files import (
    AttachedFile,
    Attributes,
    FilesOfWorkspaceView,
    StoreFilesQuery,
    clean_body,
    page_of_files,
    state_attributes,
    store_file_body,
)
from ingest.api.adapters.stored_files import STATUSES, StoredFile, count_files, find_file, find_files, uploads
from ingest.services.uploads import cancel_uploads
from kebab.errors import InvalidRequest, NotFound
from kebab.identity.caller import MANAGERS, Access, caller_access
from kebab.people.workspaces import MAX_NAME_CHARS, change_workspace
from kebab.tenancy.current_workspace import acting_in
from search.api.adapters.openai import OpenAiView, VectorStoresQuery, cut_page
from search.api.search import READ
from search.api.several import searchable

# A limit against exhaustion: the workspaces of one caller are sorted in memory.
_MAX_STORES: Final = 10_000
# An id of more files is longer than an address may be.
_MAX_BATCH: Final = 100
_BATCH: Final = "vsfb_"
_NO_BATCH: Final = "There is no such batch, or none of its files is there any more."
_TIME_BYTES: Final = 8
_ID_BYTES: Final = 16


class VectorStoresView(OpenAiView):
    """The workspaces of the caller."""

    queries: ClassVar = {"GET": VectorStoresQuery}
    instead: ClassVar = {
        "POST": "A vector store is a workspace, created on the pages, by POST /api/v1/workspaces or by"
        " `kebab workspace create`. Its slug is the id; list names those you may use."
    }

    @extend_schema(responses={200: {"type": "object"}})
    def get(self, request: Request) -> Response:
        """List the workspaces that the caller may search."""
        found = searchable(self.caller, limit=_MAX_STORES)
        is_descending = self.query["order"] == "desc"
        found.sort(key=lambda each: (each.workspace.created_at, each.workspace.slug), reverse=is_descending)
        page, has_more = cut_page(found, self.query)
        return Response(page_of_files([_store(access) for access in page], has_more))


class StoreChange(serializers.Serializer[Any]):
    """The body that changes a store; a workspace has neither metadata nor an expiry."""

    name = serializers.CharField(required=False, allow_null=True, max_length=MAX_NAME_CHARS)
    metadata = serializers.DictField(required=False, allow_null=True)
    expires_after = serializers.DictField(required=False, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return the fields. Raises ValidationError for those that a workspace lacks."""
        for name in ("metadata", "expires_after"):
            if attrs.get(name):
                raise serializers.ValidationError({name: "A workspace has none; leave it out."})
        return attrs


class VectorStoreView(OpenAiView):
    """One workspace."""

    instead: ClassVar = {
        "DELETE": "A vector store is a workspace: its owner deletes it in its settings or by the API."
    }

    @extend_schema(responses={200: {"type": "object"}})
    def get(self, request: Request, store: str) -> Response:
        """Return a workspace as a vector store."""
        access = caller_access(self.caller, store)
        READ.check(access)
        return Response(_store(access))

    @extend_schema(request=StoreChange, responses={200: {"type": "object"}})
    def post(self, request: Request, store: str) -> Response:
        """Change the name of a workspace."""
        access = caller_access(self.caller, store)
        MANAGERS.check(access)
        self.acting.enter_context(acting_in(access.workspace.pk))
        name = clean_body(StoreChange, request).get("name")
        if name:
            access = replace(access, workspace=change_workspace(access, name=name))
        return Response(_store(access))


class NewBatch(Attributes):
    """Files to attach together, by their ids, or each with its attributes."""

    file_ids = serializers.ListField(child=serializers.CharField(), required=False)
    files = AttachedFile(many=True, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return the attributes by file. Raises ValidationError for no file, or too many."""
        shared = attrs.get("attributes", {})
        files = dict.fromkeys(attrs.get("file_ids", ()), shared)
        files |= {each["file_id"]: each.get("attributes") or shared for each in attrs.get("files", ())}
        if not 1 <= len(files) <= _MAX_BATCH:
            raise serializers.ValidationError({"file_ids": f"Give 1 to {_MAX_BATCH} files."})
        return {"files": files}


class FileBatchesView(FilesOfWorkspaceView):
    """Batches of files of a workspace."""

    @extend_schema(request=NewBatch, responses={200: {"type": "object"}})
    def post(self, request: Request, store: str) -> Response:
        """Attach files, which are in their workspace already; attributes become metadata."""
        access = self.enter(store)
        given = clean_body(NewBatch, request)["files"]
        found = {file_id: find_file(access, file_id) for file_id in given}
        files = [
            state_attributes(access, found[file_id], attributes) if attributes else found[file_id]
            for file_id, attributes in given.items()
        ]
        return Response(_batch(access, name_batch([file.doc_id for file in files]), files))


class FileBatchView(FilesOfWorkspaceView):
    """One batch."""

    @extend_schema(responses={200: {"type": "object"}})
    def get(self, request: Request, store: str, batch_id: str) -> Response:
        """Return the state of a batch."""
        access = self.enter(store)
        return Response(_batch(access, batch_id, _files_of(access, batch_id)))


class FileBatchCancelView(FilesOfWorkspaceView):
    """The cancellation of a batch."""

    @extend_schema(request=None, responses={200: {"type": "object"}})
    def post(self, request: Request, store: str, batch_id: str) -> Response:
        """Cancel the uploads of a batch that have not ended."""
        access = self.enter(store)
        waiting = [file.doc_id for file in _files_of(access, batch_id)]
        cancel_uploads(access, uploads(access).filter(file__in=[doc_id.hex for doc_id in waiting]))
        return Response(_batch(access, batch_id, list(find_files(access, waiting).values())))


class FileBatchFilesView(FilesOfWorkspaceView):
    """The files of a batch."""

    queries: ClassVar = {"GET": StoreFilesQuery}

    @extend_schema(responses={200: {"type": "object"}})
    def get(self, request: Request, store: str, batch_id: str) -> Response:
        """List the files of a batch by time."""
        access = self.enter(store)
        wanted = self.query.get("filter")
        files = [file for file in _files_of(access, batch_id) if wanted in (None, file.status)]
        files.sort(key=lambda file: (file.at, file.id), reverse=self.query["order"] == "desc")
        ids = [file.id for file in files]
        for name in ("after", "before"):
            if name in self.query and self.query[name] not in ids:
                raise InvalidRequest(f"{name}: the batch lacks this file; copy the id of one that it lists.")
        start = ids.index(self.query["after"]) + 1 if "after" in self.query else 0
        end = ids.index(self.query["before"]) if "before" in self.query else len(files)
        page = files[start:end][: self.query["limit"]]
        bodies = [store_file_body(access, file) for file in page]
        return Response(page_of_files(bodies, len(files[start:end]) > len(page)))


class OtherCallView(OpenAiView):
    """Every other call of OpenAI's clients, which is answered by what there is."""


def _store(access: Access) -> dict[str, Any]:
    workspace = access.workspace
    with acting_in(workspace.pk):
        counts = count_files(access)
    size_bytes = counts.pop("size_bytes")
    return {
        "id": workspace.slug,
        "object": "vector_store",
        "created_at": int(workspace.created_at.timestamp()),
        "name": workspace.name,
        "status": "in_progress" if counts["in_progress"] else "completed",
        "usage_bytes": size_bytes,
        "file_counts": counts,
        "last_active_at": None,
        "metadata": {},
    }


def name_batch(doc_ids: Sequence[uuid.UUID]) -> str:
    """Return the id of a batch of these documents that is created now."""
    packed = int(time.time()).to_bytes(_TIME_BYTES) + b"".join(doc_id.bytes for doc_id in doc_ids)
    return _BATCH + urlsafe_b64encode(packed).decode().rstrip("=")


def _read_batch(batch_id: str) -> tuple[int, list[uuid.UUID]]:
    """Return the time of a batch, and the ids of its documents. Raises NotFound."""
    encoded = batch_id.removeprefix(_BATCH)
    try:
        packed = urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
    except ValueError:
        packed = b""
    ids = [packed[at : at + _ID_BYTES] for at in range(_TIME_BYTES, len(packed), _ID_BYTES)]
    if not batch_id.startswith(_BATCH) or not 1 <= len(ids) <= _MAX_BATCH or len(ids[-1]) != _ID_BYTES:
        raise NotFound(_NO_BATCH)
    return int.from_bytes(packed[:_TIME_BYTES]), [uuid.UUID(bytes=each) for each in ids]


def _files_of(access: Access, batch_id: str) -> list[StoredFile]:
    """Return the files of a batch. Raises NotFound if all are gone."""
    found = find_files(access, _read_batch(batch_id)[1])
    if not found:
        raise NotFound(_NO_BATCH)
    return list(found.values())


def _batch(access: Access, batch_id: str, files: Sequence[StoredFile]) -> Mapping[str, Any]:
    """Return a batch; files that are gone are counted as cancelled."""
    created_at, doc_ids = _read_batch(batch_id)
    by_status = Counter(file.status for file in files)
    by_status["cancelled"] += len(doc_ids) - len(files)
    status = "in_progress" if by_status["in_progress"] else "completed" if files else "cancelled"
    return {
        "id": batch_id,
        "object": "vector_store.file_batch",
        "created_at": created_at,
        "vector_store_id": access.workspace.slug,
        "status": status,
        "file_counts": {**{name: by_status[name] for name in STATUSES}, "total": len(doc_ids)},
    }
