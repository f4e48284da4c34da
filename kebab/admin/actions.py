"""Admin actions on rows: confirmed, audited, and done by the functions that every interface calls."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import PermissionDenied
from django.db import models, transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from unfold.enums import ActionVariant

from kebab.admin.changelist import ListAdmin
from kebab.http.api.errors import known_errors
from kebab.people import audit
from kebab.people.access.caller import Access, operator_access
from kebab.people.models import User, Workspace

#: The most rows for one run of an action.
MOST_ROWS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RowAction:
    """An action on rows, with its confirmation question."""

    #: In URLs: `cancel`.
    name: str
    label: "str | Promise"
    icon: str
    #: The confirmation question, which states the consequences.
    question: "str | Promise"
    #: Runs the action and returns a message. Raises what its domain function raises.
    perform: Callable[[HttpRequest, Any], str]
    #: The required Django permission: `change` or `delete`.
    permission: str = "change"
    is_destructive: bool = False
    #: Whether the action applies to the row in its current state.
    fits: Callable[[Any], bool] = lambda row: True


def record_admin_action(request: HttpRequest, action: str, subject: str, **detail: Any) -> None:
    """Record that the operator did `action` in the admin, to something that belongs to no workspace."""
    audit.record_person(_operator_email(request), action, subject, via="admin", **detail)


_offered: dict[type[models.Model], list[RowAction]] = defaultdict(list)


def register_actions(model: type[models.Model], *row_actions: RowAction) -> None:
    """Add actions to the admin of `model`, which may belong to another app."""
    _offered[model] += [action for action in row_actions if action not in _offered[model]]


def admin_access(request: HttpRequest, workspace: Workspace) -> Access:
    """Return the operator's access to a workspace: an owner's, under their own address.

    The audit log marks it with `via` "admin", to tell it from the same person acting as a member.
    """
    return operator_access(workspace, _operator_email(request), via="admin")


def _operator_email(request: HttpRequest) -> str:
    """Return the address of the person who uses the admin. Raises PermissionDenied without one."""
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user.email


class ActionAdmin(ListAdmin):
    """An admin with its model's registered actions: on a row's page, and on selected rows of the list."""

    @property
    def row_actions(self) -> Sequence[RowAction]:
        """Return the actions registered for the model."""
        return _offered[self.model]

    def is_permitted(self, request: HttpRequest, action: RowAction, row: Any = None) -> bool:
        """Return whether the user may run the action on `row`; None: on any row."""
        return bool(
            request.user.has_perm(f"{self.opts.app_label}.{action.permission}_{self.opts.model_name}")
        )

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Return the actions on selected rows."""
        if "_popup" in request.GET:
            return {}
        return {
            action.name: (partial(_run_on_selected, action), action.name, str(action.label))
            for action in self.row_actions
            if self.is_permitted(request, action)
        }

    def get_urls(self) -> list[URLPattern]:
        """Add the URL of actions on a row."""
        view = self.admin_site.admin_view(self.action_view)
        name = f"{self.opts.app_label}_{self.opts.model_name}_act"
        return [path("<path:object_id>/act/<slug:act_name>/", view, name=name), *super().get_urls()]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Add the row's buttons."""
        row = kwargs.get("obj")
        if row is not None:
            context["actions_detail"] = self.buttons(request, row)
        return super().render_change_form(request, context, *args, **kwargs)

    def buttons(self, request: HttpRequest, row: Any) -> list[dict[str, Any]]:
        """Return the buttons of the actions that apply to the row."""
        return [
            self._button(action, row)
            for action in self.row_actions
            if self.is_permitted(request, action, row) and action.fits(row)
        ]

    def action_view(self, request: HttpRequest, object_id: str, act_name: str) -> HttpResponse:
        """Ask for confirmation on GET, run the action on POST. Raises Http404, PermissionDenied."""
        action = next((each for each in self.row_actions if each.name == act_name), None)
        row = self.get_object(request, unquote(object_id))
        if action is None or row is None:
            raise Http404
        if not self.is_permitted(request, action, row) or not self.has_view_permission(request, row):
            raise PermissionDenied
        if request.method != "POST":
            return self.ask_confirmation(request, action, [row])
        _run_action(self, request, action, [row])
        return HttpResponseRedirect(self._address(row if self.get_object(request, row.pk) else None))

    def ask_confirmation(
        self, request: HttpRequest, action: RowAction, rows: Sequence[Any]
    ) -> TemplateResponse:
        """Return the confirmation page."""
        context = {
            **self.admin_site.each_context(request),
            "title": action.label,
            "opts": self.opts,
            "act": action,
            "rows": rows,
            "ticked_name": ACTION_CHECKBOX_NAME,
            "back": self._address(rows[0] if len(rows) == 1 else None),
        }
        request.current_app = self.admin_site.name
        return TemplateResponse(request, "operating/question.html", context)

    def _button(self, action: RowAction, row: Any) -> dict[str, Any]:
        variant = ActionVariant.DANGER if action.is_destructive else ActionVariant.DEFAULT
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_act"
        address = reverse(name, args=(quote(row.pk), action.name))
        return {"title": action.label, "icon": action.icon, "variant": variant, "attrs": {}, "path": address}

    def _address(self, row: Any | None) -> str:
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}"
        return (
            reverse(f"{name}_changelist") if row is None else reverse(f"{name}_change", args=(quote(row.pk),))
        )


def _run_on_selected(
    action: RowAction, admin: ActionAdmin, request: HttpRequest, rows: models.QuerySet[Any]
) -> HttpResponse | None:
    chosen = list(rows[: MOST_ROWS + 1])
    if len(chosen) > MOST_ROWS:
        messages.error(request, _("Select %(most)s rows at most; nothing was done.") % {"most": MOST_ROWS})
        return None
    if "sure" not in request.POST:
        return admin.ask_confirmation(request, action, chosen)
    _run_action(admin, request, action, chosen)
    return None


def _run_action(admin: ActionAdmin, request: HttpRequest, action: RowAction, rows: Iterable[Any]) -> None:
    for row in rows:
        if not admin.is_permitted(request, action, row):
            messages.error(request, _("%(row)s: you are not allowed to do this.") % {"row": row})
            continue
        try:
            with transaction.atomic():
                message = action.perform(request, row)
        except known_errors() as error:
            messages.error(request, f"{row}: {error}")
        else:
            messages.success(request, message)
