"""Views without any condition, each of which returns the number of visible rows by table."""

from typing import ClassVar

from django.db import ProgrammingError, connection, transaction
from django.http import JsonResponse
from django.urls import path
from psycopg import sql
from rest_framework.response import Response

from kebab.http.api import problems
from kebab.http.api.urls import below_workspace
from kebab.http.api.views import ApiView, WorkspaceView
from kebab.identity.caller import Need
from kebab.identity.models import Group, Role, Workspace
from kebab.pages.page import Page, WorkspacePage
from tests.security.tenancy.tenants import MODELS

handler400 = problems.bad_request
handler403 = problems.permission_denied
handler404 = problems.page_not_found
handler500 = problems.server_error


def counts():
    """Return the number of rows by table, the same by ORM and by a plain statement."""
    seen = {}
    for model in MODELS:
        seen[model.__name__] = model.objects.count()
        with connection.cursor() as cursor:
            cursor.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(model._meta.db_table)))
            assert cursor.fetchone() == (seen[model.__name__],)
    return seen


class CountsView(WorkspaceView):
    """Counts; a POST tries to write to the workspace in its body."""

    required: ClassVar = {
        "GET": Need(role=Role.VIEWER, scope="any"),
        "POST": Need(role=Role.VIEWER, scope="any"),
    }

    def get(self, request, ws):
        """Return the counts."""
        return Response(counts())

    def post(self, request, ws):
        """Try to write, and return the result."""
        try:
            with transaction.atomic():
                Group.objects.create(workspace_id=request.data["workspace"], name="planted")
        except ProgrammingError as error:
            return Response({"refused": str(error), "renamed": self._rename(request.data["workspace"])})
        return Response({"refused": ""})

    def _rename(self, workspace_id):
        return Workspace.objects.filter(pk=workspace_id).update(name="mine")


class NoWorkspaceView(ApiView):
    """Counts for a signed-in caller outside a workspace."""

    def get(self, request):
        """Return the counts."""
        return Response(counts())


class CountsPage(WorkspacePage):
    """Counts, on a page."""

    def show(self, request, workspace):
        """Return the counts."""
        return JsonResponse(counts())


class NoWorkspacePage(Page):
    """Counts on a page outside a workspace."""

    def get(self, request):
        """Return the counts."""
        return JsonResponse(counts())


def plain(request):
    """Return the counts to anyone."""
    return JsonResponse(counts())


urlpatterns = [
    below_workspace("/counts", CountsView.as_view(), "counts"),
    path("api/v1/counts", NoWorkspaceView.as_view()),
    path("w/<str:slug>/counts", CountsPage.as_view()),
    path("counts", NoWorkspacePage.as_view()),
    path("plain", plain),
    path("admin/counts", plain),
]
