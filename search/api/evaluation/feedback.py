"""`/workspaces/{ws}/feedback`: feedback on hits."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.errors import NotFound
from kebab.http.api.idempotency import idempotent
from kebab.http.api.openapi_schema import page_of
from kebab.http.api.serializers import strict_body
from kebab.http.api.views import KeysetPage, PageQuery, WorkspaceView
from kebab.identity.caller import Need
from kebab.identity.models import Role, TokenScope
from search.access.restrictions import visible_sources
from search.api.evaluation.serializers import FeedbackSerializer, NewFeedback
from search.evaluation.feedback import record_feedback, visible_feedback

_SEARCH = Need(role=Role.VIEWER, scope=TokenScope.SEARCH)


def _check_replay(view: WorkspaceView, body: Any) -> None:
    """Raise NotFound if the caller may no longer read the source that the feedback is about."""
    if not visible_sources(view.workspace, view.access.reader).filter(key=body["source"]).exists():
        raise NotFound


class FeedbackView(WorkspaceView):
    """Feedback on hits."""

    required: ClassVar = {"GET": _SEARCH, "POST": _SEARCH}
    queries: ClassVar = {"GET": PageQuery}

    @extend_schema(responses=page_of(FeedbackSerializer))
    def get(self, request: Request, ws: str) -> Response:
        """List the feedback, newest first: everybody's if you manage the workspace and read all of it, else
        your own.
        """
        page = KeysetPage.from_view(self, ordering=("-created_at", "id"))
        feedback = visible_feedback(self.access)
        if TokenScope.MANAGE not in self.access.scopes:
            feedback = feedback.filter(creator=self.access.identity)
        return page.response(feedback, lambda row: FeedbackSerializer(row).data)

    @extend_schema(request=NewFeedback, responses={201: FeedbackSerializer})
    @idempotent(recheck=_check_replay)
    def post(self, request: Request, ws: str) -> Response:
        """Store whether a hit answers a query. Your earlier feedback on the document for the same query is
        replaced.
        """
        feedback = record_feedback(self.access, **strict_body(request, NewFeedback))
        return Response(FeedbackSerializer(feedback).data, status=201)
