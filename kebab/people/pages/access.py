"""The access report of a member or a token as a page."""

import uuid
from typing import Any, ClassVar

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from kebab.errors import NotFound
from kebab.identity.caller import ADMINS, Need
from kebab.identity.models import Workspace
from kebab.pages.page import WorkspacePage
from kebab.people.access_report import explain_access, find_caller


class AccessPage(WorkspacePage):
    """The access report of a member or a token, for owners and admins."""

    need: ClassVar[Need] = ADMINS
    tab: ClassVar[str] = "people"

    def show(self, request: HttpRequest, workspace: Workspace, **named: Any) -> HttpResponse:
        """Return the report on all sources, or on the `source` or `document` of the query; one that doesn't
        exist is marked as unknown. Raises NotFound.
        """
        caller = find_caller(workspace, **named)
        source, document = (request.GET.get(name, "").strip()[:63] for name in ("source", "document"))
        try:
            item: dict[str, Any] = {"source": source or None}
            if document:
                item = {"document": _parse_id(document)}
            report, is_unknown = explain_access(workspace, caller, **item), False
        except NotFound:
            report, is_unknown = explain_access(workspace, caller), True
        return self.render(
            request,
            "people/pages/access.html",
            report=report,
            back=reverse("person" if "user_id" in named else "token", args=[workspace.slug, *named.values()]),
            source=source,
            document=document,
            is_unknown=is_unknown,
        )


def _parse_id(text: str) -> uuid.UUID:
    """Return the id of a document. Raises NotFound for another text."""
    try:
        return uuid.UUID(text)
    except ValueError as error:
        raise NotFound from error
