"""`/workspaces/{ws}/analytics`: statistics of a workspace's queries."""

from typing import ClassVar, Final

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.http.api.openapi_schema import wire_component
from kebab.http.api.serializers import StrictSerializer, TypedTextField, strict_body
from kebab.http.api.views import WorkspaceView
from kebab.wire import to_wire
from search.api.search import json_response
from search.models import ReviewState
from search.query_log.statistics import DEFAULT_DAYS, DEFAULT_LISTED, MAX_DAYS, MAX_LISTED, compute_analytics
from search.query_log.storage import REVIEW, review_query

_VERSION: Final = "analytics.v1"


class AnalyticsQuery(StrictSerializer):
    """The number of days, and the length of the lists."""

    days = serializers.IntegerField(min_value=1, max_value=MAX_DAYS, default=DEFAULT_DAYS)
    limit = serializers.IntegerField(
        min_value=1, max_value=MAX_LISTED, default=DEFAULT_LISTED, help_text="The most queries of each list."
    )


class AnalyticsView(WorkspaceView):
    """Statistics of the workspace's queries: which were asked, how many had no results, and how fast the
    answers were.
    """

    required: ClassVar = {"GET": REVIEW}
    queries: ClassVar = {"GET": AnalyticsQuery}

    @extend_schema(responses={200: wire_component(_VERSION)})
    def get(self, request: Request, ws: str) -> HttpResponse:
        """Return the statistics of the last days. The caller needs the right to manage the workspace and to
        read all of its sources.
        """
        found = compute_analytics(self.access, days=self.query["days"], limit=self.query["limit"])
        facts = to_wire(found, include={"days", "since", "kept_days", "total", "degraded"})
        document = {
            "schema_version": _VERSION,
            "workspace": self.workspace.slug,
            **facts,
            "doors": [{"door": door, "queries": queries} for door, queries in found.doors],
            "top_queries": list(map(to_wire, found.top_queries)),
            "no_hit_queries": list(map(to_wire, found.no_hit_queries)),
            "modes": [{"mode": mode, **to_wire(counts)} for mode, counts in found.modes],
            "by_day": [{"day": day.isoformat(), **to_wire(counts)} for day, counts in found.by_day],
        }
        return json_response(document)


class NewQueryReview(StrictSerializer):
    """The body that stores what somebody does about a query without results."""

    query = TypedTextField()
    state = serializers.ChoiceField(choices=ReviewState.values)


class QueryReviewsView(WorkspaceView):
    """Reviews of queries without results."""

    required: ClassVar = {"POST": REVIEW}

    @extend_schema(request=NewQueryReview, responses={204: None})
    def post(self, request: Request, ws: str) -> Response:
        """Store the state of a query without results, with the caller as its owner unless it is open."""
        fields = strict_body(request, NewQueryReview)
        review_query(self.access, fields["query"], ReviewState(fields["state"]))
        return Response(status=204)
