"""`/workspaces/{ws}/feedback`: what people say of hits."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.http.api.errors import NotFound
from kebab.http.api.idempotency import idempotent
from kebab.http.api.openapi_schema import page_of
from kebab.http.api.pagination import KeysetPage, PageQuery
from kebab.http.api.permissions import Need
from kebab.http.api.serializers import strict_body
from kebab.http.api.views import WorkspaceView
from kebab.people.models import Role, Scope
from search.access.querysets import sources_of
from search.api.evaluation.serializers import FeedbackSerializer, NewFeedback
from search.evaluation.feedback import give_feedback, visible_feedback

_SEARCH = Need(role=Role.VIEWER, scope=Scope.SEARCH)


def _check_kept_answer(view: WorkspaceView, body: Any) -> None:
    """Raises NotFound when the caller may not read any more what the feedback was about."""
    if not sources_of(view.workspace, view.access.reader).filter(key=body["source"]).exists():
        raise NotFound


class FeedbackView(WorkspaceView):
    """What people say of hits."""

    required: ClassVar = {"GET": _SEARCH, "POST": _SEARCH}
    queries: ClassVar = {"GET": PageQuery}

    @extend_schema(responses=page_of(FeedbackSerializer))
    def get(self, request: Request, ws: str) -> Response:
        """List the feedback, newest first: everybody's to who manages and reads all of it, else your own."""
        page = KeysetPage.requested(self, ordering=("-created_at", "id"))
        said = visible_feedback(self.access)
        if Scope.MANAGE not in self.access.scopes:
            said = said.filter(creator=self.access.identity)
        return page.response(said, lambda row: FeedbackSerializer(row).data)

    @extend_schema(request=NewFeedback, responses={201: FeedbackSerializer})
    @idempotent(recheck=_check_kept_answer)
    def post(self, request: Request, ws: str) -> Response:
        """Return whether a hit answers a query. What you said of the document for the same query is
        replaced.
        """
        said = give_feedback(self.access, **strict_body(request, NewFeedback))
        return Response(FeedbackSerializer(said).data, status=201)
