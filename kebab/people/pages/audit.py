"""The audit log of a workspace as a page and as a CSV file."""

import csv
import json
from collections.abc import AsyncIterator
from datetime import date, datetime, time, timedelta
from io import StringIO
from typing import Any

from asgiref.sync import sync_to_async
from django import forms
from django.db.models import QuerySet
from django.http.response import HttpResponseBase, StreamingHttpResponse
from django.utils.timezone import get_current_timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kebab.errors import InvalidRequest
from kebab.http.api.views import KeysetPage
from kebab.identity.caller import ADMINS
from kebab.identity.models import AuditEvent, Workspace
from kebab.pages.page import WorkspacePage, list_page
from kebab.people.audit import events_of
from kebab.tenancy.current_workspace import acting_in_step

#: Event types and people of this many newest events are offered.
_RECENT = 5_000
#: The most events in a CSV file, newest first.
CSV_ROWS = 50_000
_CSV_BATCH = 1_000
_NEWEST_FIRST = ("-at", "id")
_COLUMNS = ("at", "actor", "action", "subject", "address", "detail")
# Spreadsheets run a cell that begins with one of these as a formula.
_FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")

_DATE = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")


# What events are about, and what happened; the log itself keeps their codes.
_SUBJECTS = {
    "account": _("Account"),
    "document": _("Document"),
    "embedding": _("Embedding model"),
    "gate": _("Trial of settings"),
    "group": _("Group"),
    "invitation": _("Invitation"),
    "job": _("Job"),
    "member": _("Member"),
    "mirror": _("Search index"),
    "password": _("Password"),
    "quarantine": _("Refused file"),
    "run": _("Evaluation"),
    "saved_search": _("Saved search"),
    "sign_in": _("Login"),
    "source": _("Source"),
    "token": _("Token"),
    "topics": _("Test queries"),
    "version": _("Version"),
    "webhook": _("Webhook"),
    "workspace": _("Workspace"),
}
_HAPPENED = {
    "accepted": _("accepted"),
    "added": _("added"),
    "asked": _("requested"),
    "cancelled": _("cancelled"),
    "changed": _("changed"),
    "created": _("created"),
    "deleted": _("deleted"),
    "disabled": _("disabled"),
    "dismissed": _("dismissed"),
    "exported": _("exported"),
    "kept": _("saved"),
    "linked": _("connected"),
    "made": _("sent"),
    "member_added": _("member added"),
    "member_removed": _("member removed"),
    "readers_changed": _("readers changed"),
    "rebuild_asked": _("rebuild requested"),
    "removed": _("removed"),
    "renamed": _("renamed"),
    "retried": _("tried again"),
    "revoked": _("revoked"),
    "rotated": _("replaced"),
    "succeeded": _("succeeded"),
    "sync_asked": _("sync requested"),
    "unlinked": _("disconnected"),
    "withdrawn": _("withdrawn"),
}


def event_label(action: str) -> str:
    """Return the label of an event type, or of all about a subject (`source.`); unknown ones as they are."""
    subject, _dot, happened = action.partition(".")
    if subject not in _SUBJECTS:
        return action
    label = _HAPPENED.get(happened) or (happened.replace("_", " ") if happened else gettext("all"))
    return f"{_SUBJECTS[subject]}: {label}"


class AuditForm(forms.Form):
    """Filters of the audit log, offered as far as recent events have them; an empty one matches all."""

    action = forms.ChoiceField(label=_("Event type"), required=False)
    actor = forms.ChoiceField(label=_("Person"), required=False)
    since = forms.DateField(label=_("From"), required=False, widget=_DATE)
    until = forms.DateField(label=_("To"), required=False, widget=_DATE)

    def __init__(self, workspace: Workspace, given: Any) -> None:
        super().__init__(given)
        recent = list(events_of(workspace).order_by(*_NEWEST_FIRST).values_list("action", "actor")[:_RECENT])
        subjects = {f"{action.partition('.')[0]}." for action, _actor in recent}
        self._offer("action", subjects | {action for action, _actor in recent}, given, most_chars=64)
        self._offer("actor", {actor for _action, actor in recent}, given, most_chars=320)

    def _offer(self, name: str, found: set[str], given: Any, *, most_chars: int) -> None:
        """Offer the values that were found, and one from an address that is not too long."""
        asked = {value for value in (given.get(name, ""),) if 0 < len(value) <= most_chars}
        field: Any = self.fields[name]
        field.choices = [("", _("All")), *((value, event_label(value)) for value in sorted(found | asked))]

    def filters(self) -> dict[str, Any]:
        """Return the filters for `events_of`; days are those of the reader's time zone."""
        given = {name: self.cleaned_data.get(name) or None for name in self.fields}
        last = given["until"]
        until = None if last is None or last == date.max else last + timedelta(days=1)
        return {**given, "since": _midnight(given["since"]), "until": _midnight(until)}


@WorkspacePage.of(need=ADMINS, tab="settings")
def audit_page(page: WorkspacePage) -> HttpResponseBase:
    """Return the audit log, newest first. Raises InvalidCursor."""
    form = AuditForm(page.access.workspace, page.request.GET)
    is_valid = form.is_valid()
    events = events_of(page.access.workspace, **form.filters())
    listed = list_page(page, page.request, events, ordering=_NEWEST_FIRST)
    for event in listed.rows:
        event.label = event_label(event.action)
        event.shown = {name: _format_detail(value) for name, value in event.detail.items()}
    response = page.render(page.request, "people/pages/audit.html", form=form, section="audit", list=listed)
    response.status_code = 200 if is_valid else 400
    return response


@WorkspacePage.of(need=ADMINS, tab="settings")
def audit_download(page: WorkspacePage) -> HttpResponseBase:
    """Return the newest CSV_ROWS of the same events as a streamed CSV file. Raises InvalidRequest."""
    workspace = page.access.workspace
    form = AuditForm(workspace, page.request.GET)
    if not form.is_valid():
        raise InvalidRequest(gettext("Choose an event type, a person and dates that the page offers."))
    return StreamingHttpResponse(
        _csv_lines(workspace, events_of(workspace, **form.filters())),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{workspace.slug}-audit.csv"'},
    )


async def _csv_lines(workspace: Workspace, events: "QuerySet[AuditEvent]") -> AsyncIterator[str]:
    cursor: str | None = None
    yield _csv([_COLUMNS])
    for _number in range(CSV_ROWS // _CSV_BATCH):
        rows, cursor = await sync_to_async(_fetch)(workspace, events, cursor)
        yield _csv([[_cell(event, name) for name in _COLUMNS] for event in rows])
        if cursor is None:
            return


def _fetch(workspace: Workspace, events: "QuerySet[AuditEvent]", cursor: str | None) -> Any:
    """Return the next batch and its cursor, read in the workspace: the request has ended by then."""
    page = KeysetPage.after_cursor(cursor, ordering=_NEWEST_FIRST, limit=_CSV_BATCH, salt="kebab.audit.csv")
    with acting_in_step(workspace.pk):
        return page.fetch(events)


def _csv(rows: Any) -> str:
    text = StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()


def _cell(event: AuditEvent, name: str) -> str:
    value = getattr(event, name)
    if isinstance(value, datetime):
        return value.isoformat()
    text = json.dumps(value, ensure_ascii=False) if name == "detail" else str(value or "")
    return f"'{text}" if text.startswith(_FORMULA_SIGNS) else text


def _format_detail(value: Any) -> str:
    """Return a value of an event's details as text: the items of lists, nothing for none."""
    if isinstance(value, list | tuple):
        return ", ".join(map(_format_detail, value))
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_format_detail(each)}" for name, each in value.items())
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    return "–" if value in (None, "") else str(value)


def _midnight(day: date | None) -> datetime | None:
    return None if day is None else datetime.combine(day, time.min, get_current_timezone())
