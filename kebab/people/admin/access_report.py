"""The access report as pages of the Django admin."""

import uuid
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from unfold.enums import ActionVariant

from kebab.admin import formatting
from kebab.admin.actions import ActionAdmin
from kebab.http.api.errors import known_errors
from kebab.people.access.caller import Caller
from kebab.people.access.report import explain_access
from kebab.people.models import Workspace

_PERMISSIONS = ("people.view_membership", "search.view_source")


class AccessReportAdmin(ActionAdmin):
    """An admin whose rows stand for callers, with a page of the access report; see `caller_in`."""

    def caller_in(self, request: HttpRequest, row: Any) -> tuple[Caller, Workspace | None]:
        """Return the caller that a row stands for, and the default workspace of its report."""
        raise NotImplementedError

    def get_urls(self) -> list[URLPattern]:
        """Add the URL of the report."""
        view = self.admin_site.admin_view(self.access_view)
        name = f"{self.opts.app_label}_{self.opts.model_name}_access"
        return [path("<path:object_id>/access/", view, name=name), *super().get_urls()]

    def buttons(self, request: HttpRequest, row: Any) -> list[dict[str, Any]]:
        """Add the button that opens the report."""
        address = self._access_address(row)
        button = {"title": "Access", "icon": "policy", "variant": ActionVariant.DEFAULT, "attrs": {}}
        return [button | {"path": address}, *super().buttons(request, row)]

    @admin.display(description="access")
    def access_link(self, row: Any) -> Any:
        """Return a link to the report, for lists."""
        return formatting.anchor(self._access_address(row), "See")

    def access_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show the access report of the row's caller. Raises Http404, PermissionDenied."""
        row = self.get_object(request, unquote(object_id))
        if row is None:
            raise Http404
        if not self.has_view_permission(request, row) or not request.user.has_perms(_PERMISSIONS):
            raise PermissionDenied
        caller, default = self.caller_in(request, row)
        workspace = _requested_workspace(request, default)
        context = {
            **self.admin_site.each_context(request),
            "title": f"Access of {caller.actor}",
            "opts": self.opts,
            "workspace": workspace,
            "asked": {name: request.GET.get(name, "") for name in ("workspace", "source", "document")},
            **_report_context(request, caller, workspace),
        }
        return TemplateResponse(request, "people/access.html", context)

    def _access_address(self, row: Any) -> str:
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_access"
        return reverse(name, args=(quote(row.pk),))


def _requested_workspace(request: HttpRequest, default: Workspace | None) -> Workspace | None:
    """Return the workspace that the page's form names by slug or id; `default` if it names none."""
    named = request.GET.get("workspace", "").strip()
    return Workspace.objects.by_slug_or_id(named).first() if named else default


def _report_context(request: HttpRequest, caller: Caller, workspace: Workspace | None) -> dict[str, Any]:
    """Return the report, or the error, as template context."""
    source, document = (request.GET.get(name, "").strip() for name in ("source", "document"))
    if workspace is None:
        return {
            "error": "Name a workspace that there is." if request.GET.get("workspace", "").strip() else ""
        }
    refusals: tuple[type[Exception], ...] = (*known_errors(), ValueError)
    try:
        document_id = uuid.UUID(document) if document else None
        return {"report": explain_access(workspace, caller, document=document_id, source=source or None)}
    except refusals as error:
        return {"error": str(error)}
