"""`/workspaces/{ws}/analytics`: statistics of a workspace's queries."""

from typing import ClassVar

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from kebab.http.api.serializers import StrictSerializer
from kebab.http.api.views import WorkspaceView
from kebab.http.api.wire_schemas import wire_component
from search.api.search import json_response
from search.query_log.statistics import DEFAULT_DAYS, DEFAULT_LISTED, MAX_DAYS, MAX_LISTED, compute_analytics
from search.query_log.storage import REVIEW
from search.query_log.wire import analytics_to_wire


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

    @extend_schema(responses={200: wire_component("analytics.v1")})
    def get(self, request: Request, ws: str) -> HttpResponse:
        """Return the statistics of the last days. The caller needs the right to manage the workspace and to
        read all of its sources.
        """
        found = compute_analytics(self.access, days=self.query["days"], limit=self.query["limit"])
        return json_response(analytics_to_wire(self.workspace.slug, found))
