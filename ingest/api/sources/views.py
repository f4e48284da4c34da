"""`/workspaces/{ws}/sources`: sources of documents, their syncs and versions."""

import uuid
from functools import partial
from typing import ClassVar

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from ingest.api.jobs.serializers import AskedJobSerializer
from ingest.api.querysets import check_replay, get_source, job_response, readable_sources, version_response
from ingest.api.sources.configs import CHANGE_SOURCES, READ_SOURCES, validate_change
from ingest.api.sources.serializers import (
    AddedVersionSerializer,
    ConnectionSerializer,
    NewSource,
    NewVersion,
    SourceChange,
    SourceSerializer,
    SourceVersionSerializer,
    SyncBody,
    VersionQuery,
)
from ingest.services.connection_probe import probe_source
from ingest.services.sources import (
    add_source,
    add_version,
    delete_source,
    delete_version,
    sync_source,
    update_source,
)
from kebab.http.api.idempotency import idempotent
from kebab.http.api.openapi_schema import page_of
from kebab.http.api.serializers import strict_body
from kebab.http.api.views import KeysetPage, PageQuery, WorkspaceView
from search.models import SourceVersion


class SourcesView(WorkspaceView):
    """The sources of a workspace."""

    required: ClassVar = {"GET": READ_SOURCES, "POST": CHANGE_SOURCES}
    queries: ClassVar = {"GET": PageQuery}

    @extend_schema(responses=page_of(SourceSerializer))
    def get(self, request: Request, ws: str) -> Response:
        """List the sources by key."""
        page = KeysetPage.from_view(self, ordering=("key",))
        return page.response(readable_sources(self.access), partial(self.serialise, SourceSerializer))

    @extend_schema(request=NewSource, responses={201: SourceSerializer})
    @idempotent(recheck=check_replay)
    def post(self, request: Request, ws: str) -> Response:
        """Create a source. A folder must be below one that the operator allows; sync the source to read it.

        Only owners and admins may set `readers`.
        """
        fields = strict_body(request, NewSource)
        source = get_source(self.access, add_source(self.access, fields).pk)
        location = reverse("api-source", kwargs={"ws": self.workspace.slug, "source_id": source.pk})
        return Response(self.serialise(SourceSerializer, source), status=201, headers={"Location": location})


class OneSourceView(WorkspaceView):
    """One source."""

    required: ClassVar = {"GET": READ_SOURCES, "PATCH": CHANGE_SOURCES, "DELETE": CHANGE_SOURCES}

    @extend_schema(responses=SourceSerializer)
    def get(self, request: Request, ws: str, source_id: uuid.UUID) -> Response:
        """Return the source."""
        return Response(self.serialise(SourceSerializer, get_source(self.access, source_id)))

    @extend_schema(request=SourceChange, responses=SourceSerializer)
    def patch(self, request: Request, ws: str, source_id: uuid.UUID) -> Response:
        """Change the source. New tags apply to documents ingested from then on, a new trust level to all.

        Only owners and admins may change `readers`, which applies from the next request on.
        """
        source = get_source(self.access, source_id)
        changes = validate_change(source, strict_body(request, SourceChange))
        update_source(self.access, source, changes)
        return Response(self.serialise(SourceSerializer, get_source(self.access, source_id)))

    @extend_schema(responses={202: AskedJobSerializer})
    def delete(self, request: Request, ws: str, source_id: uuid.UUID) -> Response:
        """Delete the source with all its documents, in a job."""
        source = get_source(self.access, source_id)
        return job_response(self.access, delete_source(self.access, source))


class SourceSyncView(WorkspaceView):
    """The sync of a source."""

    required: ClassVar = {"POST": CHANGE_SOURCES}

    @extend_schema(request=SyncBody, responses={202: AskedJobSerializer})
    @idempotent(recheck=check_replay)
    def post(self, request: Request, ws: str, source_id: uuid.UUID) -> Response:
        """Sync a version of the source. A sync that waits, and has not listed it yet, is returned instead."""
        source = get_source(self.access, source_id)
        fields = strict_body(request, SyncBody)
        return job_response(self.access, sync_source(self.access, source, **fields))


class SourceTestView(WorkspaceView):
    """The test of a source's connection."""

    required: ClassVar = {"POST": CHANGE_SOURCES}
    with_body: ClassVar = ()

    @extend_schema(request=None, responses=ConnectionSerializer)
    def post(self, request: Request, ws: str, source_id: uuid.UUID) -> Response:
        """Connect to the source as a sync would, within ten seconds, and store nothing.

        422 connection_failed has the reason.
        """
        source = get_source(self.access, source_id)
        return Response(ConnectionSerializer({"found": probe_source(self.access, source)}).data)


class SourceVersionsView(WorkspaceView):
    """The versions of a source."""

    required: ClassVar = {"GET": READ_SOURCES, "POST": CHANGE_SOURCES, "DELETE": CHANGE_SOURCES}
    queries: ClassVar = {"GET": PageQuery, "DELETE": VersionQuery}

    @extend_schema(responses=page_of(SourceVersionSerializer))
    def get(self, request: Request, ws: str, source_id: uuid.UUID) -> Response:
        """List the versions by tag, the default one first."""
        source = get_source(self.access, source_id)
        page = KeysetPage.from_view(self, ordering=("tag",))
        versions = SourceVersion.objects.in_workspace(self.workspace).filter(source=source)
        return page.response(versions, lambda row: SourceVersionSerializer(row).data)

    @extend_schema(request=NewVersion, responses={201: AddedVersionSerializer, 202: AddedVersionSerializer})
    @idempotent(recheck=check_replay)
    def post(self, request: Request, ws: str, source_id: uuid.UUID) -> Response:
        """Add a version. A folder's present state is read into it, in a job; uploads may use it at once."""
        source = get_source(self.access, source_id)
        fields = strict_body(request, NewVersion)
        return version_response(self.access, add_version(self.access, source, **fields))

    @extend_schema(responses={202: AskedJobSerializer})
    def delete(self, request: Request, ws: str, source_id: uuid.UUID) -> Response:
        """Delete the version `tag` with its documents, in a job; the default version goes with the source."""
        source = get_source(self.access, source_id)
        return job_response(self.access, delete_version(self.access, source, self.query["tag"]))
