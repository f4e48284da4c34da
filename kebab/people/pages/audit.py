"""The audit log of a workspace as a page."""

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from django import forms
from django.http import HttpRequest, HttpResponse

from kebab.http.api.permissions import ADMINS, Need
from kebab.pages.page import WorkspacePage
from kebab.pages.pagination import list_page
from kebab.people.audit import events_of
from kebab.people.models import AuditEvent, Workspace

_MAX_DETAIL_CHARS = 2_000
_PLAIN = forms.TextInput(attrs={"autocomplete": "off"})


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """An audit event with its detail as truncated JSON."""

    event: AuditEvent
    detail: str


class AuditForm(forms.Form):
    """Filters of the audit log; an empty one matches all events."""

    action = forms.CharField(
        label="What (member.added, or all of member.)", max_length=64, required=False, widget=_PLAIN
    )
    actor = forms.CharField(label="By whom (the address)", max_length=320, required=False, widget=_PLAIN)


class AuditPage(WorkspacePage):
    """The audit log, newest first."""

    need: ClassVar[Need] = ADMINS
    tab: ClassVar[str] = "settings"

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the page. Raises InvalidCursor."""
        form = AuditForm(request.GET)
        is_valid = form.is_valid()
        filters: dict[str, Any] = {name: value or None for name, value in form.cleaned_data.items()}
        listed = list_page(self, request, events_of(workspace, **filters), ordering=("-at", "id"))
        events = [EventRow(event=event, detail=_detail(event)) for event in listed.rows]
        response = self.render(request, "people/pages/audit.html", form=form, list=listed, events=events)
        response.status_code = 200 if is_valid else 400
        return response


def _detail(event: AuditEvent) -> str:
    text = json.dumps(event.detail, ensure_ascii=False, indent=1) if event.detail else ""
    return text if len(text) <= _MAX_DETAIL_CHARS else f"{text[:_MAX_DETAIL_CHARS]}…"
