"""The access simulator as pages: what a member or a token can see and do, and why."""

import uuid
from typing import ClassVar

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from kebab.http.api.errors import NotFound
from kebab.http.api.permissions import ADMINS, Need
from kebab.pages.page import WorkspacePage
from kebab.people.access.caller import Caller
from kebab.people.access.report import explain_access
from kebab.people.members import one_member
from kebab.people.models import Workspace
from kebab.people.tokens import readable_tokens


class AccessPage(WorkspacePage):
    """What somebody can see and do, for owners and admins."""

    need: ClassVar[Need] = ADMINS
    tab: ClassVar[str] = "people"

    def report(self, request: HttpRequest, caller: Caller, back: str) -> HttpResponse:
        """Return the page of `caller`, whose own page is `back`; of a `source` that isn't there it
        says so.
        """
        workspace = self.access.workspace
        source = request.GET.get("source", "").strip()[:63]
        try:
            told, is_unknown = explain_access(workspace, caller, source=source or None), False
        except NotFound:
            told, is_unknown = explain_access(workspace, caller), True
        context = {"report": told, "back": back, "source": source, "is_unknown": is_unknown}
        return self.render(request, "people/pages/access.html", **context)


class PersonAccess(AccessPage):
    """A member's."""

    def show(self, request: HttpRequest, workspace: Workspace, user_id: int) -> HttpResponse:
        """Return the page. Raises NotFound."""
        member = one_member(workspace, user_id)
        back = reverse("person", args=[workspace.slug, user_id])
        return self.report(request, Caller(user=member.user), back)


class TokenAccess(AccessPage):
    """A token's."""

    def show(self, request: HttpRequest, workspace: Workspace, token_id: uuid.UUID) -> HttpResponse:
        """Return the page. Raises NotFound."""
        token = readable_tokens().filter(workspace=workspace, pk=token_id).first()
        if token is None:
            raise NotFound
        back = reverse("token", args=[workspace.slug, token_id])
        return self.report(request, Caller(token=token), back)
