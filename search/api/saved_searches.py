"""`/workspaces/{ws}/saved-searches`: the caller's saved searches, their feeds and alerts."""

import uuid
from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.http.api.idempotency import idempotent
from kebab.http.api.openapi_schema import page_of
from kebab.http.api.serializers import StrictSerializer, TypedTextField, strict_body
from kebab.http.api.views import KeysetPage, PageQuery, WorkspaceView
from kebab.http.site_address import site_address
from kebab.identity.caller import Need
from kebab.identity.models import Role, TokenScope
from search.api.query import parse_enum
from search.api.query_fields import EnumeratedField, FilterFields
from search.models import Notify, SavedSearch
from search.notifications.saved_searches import (
    change_search,
    close_feed,
    delete_search,
    get_search,
    open_feed,
    own_searches,
    page_address,
    save_search,
)
from search.retrieval.types import Mode

OWN = Need(role=Role.VIEWER, scope=TokenScope.SEARCH, is_personal=True)


class NewSavedSearch(StrictSerializer):
    """The body that saves a search."""

    name = serializers.CharField(max_length=200, default="", allow_blank=True)
    q = TypedTextField(trim_whitespace=False)
    mode = EnumeratedField(Mode, required=False)
    filters = FilterFields(required=False)
    notify = serializers.ChoiceField(choices=Notify.values, default=Notify.NO)


class SavedSearchChanges(StrictSerializer):
    """The body that changes a saved search."""

    name = serializers.CharField(max_length=200, required=False)
    notify = serializers.ChoiceField(choices=Notify.values, required=False)


class SavedSearchSerializer(serializers.Serializer[SavedSearch]):
    """A saved search."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    q = serializers.CharField(source="text")
    mode = serializers.ChoiceField(choices=[mode.value for mode in Mode])
    filters = serializers.DictField()
    notify = serializers.ChoiceField(choices=Notify.values)
    has_feed = serializers.SerializerMethodField()
    page = serializers.SerializerMethodField(
        help_text="The path of the page that runs it; null if it filters by metadata."
    )
    created_at = serializers.DateTimeField()

    def get_has_feed(self, saved: SavedSearch) -> bool:
        """Return whether it has a feed."""
        return saved.feed_sha256 is not None

    def get_page(self, saved: SavedSearch) -> str | None:
        """Return the path of its page."""
        return page_address(saved)


class OpenedFeedSerializer(SavedSearchSerializer):
    """A saved search with the address of its new feed."""

    feed = serializers.CharField(help_text="Whoever knows it can read the feed.")


class SavedSearchesView(WorkspaceView):
    """The caller's saved searches."""

    required: ClassVar = {"GET": OWN, "POST": OWN}
    queries: ClassVar = {"GET": PageQuery}
    typed_text = frozenset({"q"})

    @extend_schema(responses=page_of(SavedSearchSerializer))
    def get(self, request: Request, ws: str) -> Response:
        """List the caller's saved searches, newest first."""
        page = KeysetPage.from_view(self, ordering=("-created_at", "id"))
        rows = own_searches(self.access).select_related("workspace")
        return page.response(rows, lambda row: SavedSearchSerializer(row).data)

    @extend_schema(request=NewSavedSearch, responses={201: SavedSearchSerializer})
    @idempotent(recheck=None)
    def post(self, request: Request, ws: str) -> Response:
        """Save a search. Alerts begin with the next document that changes."""
        given = strict_body(request, NewSavedSearch)
        saved = save_search(
            self.access,
            name=given["name"],
            text=given["q"],
            mode=parse_enum(Mode, "mode", given.get("mode", Mode.HYBRID)),
            filters=given.get("filters", {}),
            notify=given["notify"],
        )
        return Response(SavedSearchSerializer(saved).data, status=201)


class OneSavedSearchView(WorkspaceView):
    """One of the caller's saved searches."""

    required: ClassVar = {"GET": OWN, "PATCH": OWN, "DELETE": OWN}

    @extend_schema(responses=SavedSearchSerializer)
    def get(self, request: Request, ws: str, search_id: uuid.UUID) -> Response:
        """Return the saved search."""
        return Response(SavedSearchSerializer(get_search(self.access, search_id)).data)

    @extend_schema(request=SavedSearchChanges, responses=SavedSearchSerializer)
    def patch(self, request: Request, ws: str, search_id: uuid.UUID) -> Response:
        """Rename the saved search, or change its alerts."""
        fields = strict_body(request, SavedSearchChanges)
        return Response(SavedSearchSerializer(change_search(self.access, search_id, **fields)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, ws: str, search_id: uuid.UUID) -> Response:
        """Delete the saved search; its feed and its alerts end."""
        delete_search(self.access, search_id)
        return Response(status=204)


class SavedSearchFeedView(WorkspaceView):
    """The feed of a saved search."""

    required: ClassVar = {"POST": OWN, "DELETE": OWN}
    with_body: ClassVar = ()

    @extend_schema(request=None, responses={201: OpenedFeedSerializer})
    @idempotent(recheck=None, withhold=("feed",))
    def post(self, request: Request, ws: str, search_id: uuid.UUID) -> Response:
        """Open the feed, or give it a new address; the old one ends. It is in this answer only."""
        saved, path = open_feed(self.access, search_id)
        answer = {**SavedSearchSerializer(saved).data, "feed": site_address(request) + path}
        return Response(answer, status=201, headers={"Cache-Control": "no-store"})

    @extend_schema(responses={200: SavedSearchSerializer})
    def delete(self, request: Request, ws: str, search_id: uuid.UUID) -> Response:
        """Close the feed."""
        return Response(SavedSearchSerializer(close_feed(self.access, search_id)).data)
