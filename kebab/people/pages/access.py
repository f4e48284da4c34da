"""Access reports as pages, for a member or a token."""

import uuid
from typing import ClassVar

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from kebab.http.api.errors import NotFound
from kebab.http.api.permissions import ADMINS, Need
from kebab.http.api.querysets import first_or_not_found
from kebab.pages.page import WorkspacePage
from kebab.people.access.caller import Caller
from kebab.people.access.report import explain_access
from kebab.people.members import get_member
from kebab.people.models import Workspace
from kebab.people.tokens import readable_tokens


class AccessPage(WorkspacePage):
    """An access report, for owners and admins."""

    need: ClassVar[Need] = ADMINS
    tab: ClassVar[str] = "people"

    def render_report(self, request: HttpRequest, caller: Caller, back: str) -> HttpResponse:
        """Return the report on `caller`, with a link `back`; a `source` that doesn't exist is
        marked as unknown.
        """
        workspace = self.access.workspace
        source = request.GET.get("source", "").strip()[:63]
        try:
            report, is_unknown = explain_access(workspace, caller, source=source or None), False
        except NotFound:
            report, is_unknown = explain_access(workspace, caller), True
        context = {"report": report, "back": back, "source": source, "is_unknown": is_unknown}
        return self.render(request, "people/pages/access.html", **context)


class PersonAccess(AccessPage):
    """The access report of a member."""

    def show(self, request: HttpRequest, workspace: Workspace, user_id: int) -> HttpResponse:
        """Return the page. Raises NotFound."""
        member = get_member(workspace, user_id)
        back = reverse("person", args=[workspace.slug, user_id])
        return self.render_report(request, Caller(user=member.user), back)


class TokenAccess(AccessPage):
    """The access report of a token."""

    def show(self, request: HttpRequest, workspace: Workspace, token_id: uuid.UUID) -> HttpResponse:
        """Return the page. Raises NotFound."""
        token = first_or_not_found(readable_tokens().filter(workspace=workspace, pk=token_id))
        back = reverse("token", args=[workspace.slug, token_id])
        return self.render_report(request, Caller(token=token), back)
