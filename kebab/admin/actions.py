"""What operators do to rows: by the functions that every other door calls, after a question, written down."""

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
from unfold.enums import ActionVariant

from kebab.admin.changelist import ListAdmin
from kebab.http.api.errors import known_errors
from kebab.people import audit
from kebab.people.access.caller import Access, operator_access
from kebab.people.models import Workspace

#: Rows that one act takes at once.
MOST_ROWS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Something that can be done to a row."""

    #: In addresses: `cancel`.
    name: str
    label: str
    icon: str
    #: Asked before it is done, with what comes of it.
    question: str
    #: Does it and gives a sentence on what happened. Raises what its domain function raises.
    perform: Callable[[HttpRequest, Any], str]
    #: The Django permission that it takes: `change` or `delete`.
    permission: str = "change"
    is_destructive: bool = False
    #: Whether a row is in a state for it, so that its page offers it.
    fits: Callable[[Any], bool] = lambda row: True


def note(request: HttpRequest, action: str, subject: str, **detail: Any) -> None:
    """Write into the audit log that the operator did `action` here, to what belongs to no workspace."""
    audit.record_person(request.user.email, action, subject, via="admin", **detail)  # type: ignore[union-attr]


_offered: dict[type[models.Model], list[Act]] = defaultdict(list)


def offer(model: type[models.Model], *acts: Act) -> None:
    """Have the admin of `model` offer the acts, whichever app they belong to."""
    _offered[model] += [act for act in acts if act not in _offered[model]]


def acting(request: HttpRequest, workspace: Workspace) -> Access:
    """Return the access with which the operator acts in a workspace: an owner's, under their own address.

    The audit log says `via` the admin, where a member may have acted under the same address.
    """
    return operator_access(workspace, request.user.email, via="admin")  # type: ignore[union-attr]


class Acting(ListAdmin):
    """An admin with what is offered for its model: on a row's page, and in the list on the rows ticked."""

    @property
    def acts(self) -> Sequence[Act]:
        """Return what can be done to its rows."""
        return _offered[self.model]

    def may(self, request: HttpRequest, act: Act, row: Any = None) -> bool:
        """Return whether the person may do it to `row`; None: to any row at all."""
        return bool(request.user.has_perm(f"{self.opts.app_label}.{act.permission}_{self.opts.model_name}"))  # type: ignore[union-attr]

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Return what can be done to ticked rows."""
        if "_popup" in request.GET:
            return {}
        return {
            act.name: (partial(_on_ticked, act), act.name, act.label)
            for act in self.acts
            if self.may(request, act)
        }

    def get_urls(self) -> list[URLPattern]:
        """Add the address of each act on a row."""
        view = self.admin_site.admin_view(self.act_view)
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
        """Return the buttons of the acts that fit the row."""
        return [self._button(act, row) for act in self.acts if self.may(request, act, row) and act.fits(row)]

    def act_view(self, request: HttpRequest, object_id: str, act_name: str) -> HttpResponse:
        """Ask, and on the answer do it. Raises Http404, PermissionDenied."""
        act = next((each for each in self.acts if each.name == act_name), None)
        row = self.get_object(request, unquote(object_id))
        if act is None or row is None:
            raise Http404
        if not self.may(request, act, row) or not self.has_view_permission(request, row):
            raise PermissionDenied
        if request.method != "POST":
            return self.ask(request, act, [row])
        _do(self, request, act, [row])
        return HttpResponseRedirect(self._address(row if self.get_object(request, row.pk) else None))

    def ask(self, request: HttpRequest, act: Act, rows: Sequence[Any]) -> TemplateResponse:
        """Return the page that asks."""
        context = {
            **self.admin_site.each_context(request),
            "title": act.label,
            "opts": self.opts,
            "act": act,
            "rows": rows,
            "ticked_name": ACTION_CHECKBOX_NAME,
            "back": self._address(rows[0] if len(rows) == 1 else None),
        }
        request.current_app = self.admin_site.name
        return TemplateResponse(request, "operating/question.html", context)

    def _button(self, act: Act, row: Any) -> dict[str, Any]:
        variant = ActionVariant.DANGER if act.is_destructive else ActionVariant.DEFAULT
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_act"
        address = reverse(name, args=(quote(row.pk), act.name))
        return {"title": act.label, "icon": act.icon, "variant": variant, "attrs": {}, "path": address}

    def _address(self, row: Any | None) -> str:
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}"
        return (
            reverse(f"{name}_changelist") if row is None else reverse(f"{name}_change", args=(quote(row.pk),))
        )


def _on_ticked(
    act: Act, admin: Acting, request: HttpRequest, rows: models.QuerySet[Any]
) -> HttpResponse | None:
    chosen = list(rows[: MOST_ROWS + 1])
    if len(chosen) > MOST_ROWS:
        messages.error(request, f"Tick {MOST_ROWS} rows at most; nothing was done.")
        return None
    if "sure" not in request.POST:
        return admin.ask(request, act, chosen)
    _do(admin, request, act, chosen)
    return None


def _do(admin: Acting, request: HttpRequest, act: Act, rows: Iterable[Any]) -> None:
    for row in rows:
        if not admin.may(request, act, row):
            messages.error(request, f"{row}: You may not do this to it.")
            continue
        try:
            with transaction.atomic():
                told = act.perform(request, row)
        except known_errors() as error:
            messages.error(request, f"{row}: {error}")
        else:
            messages.success(request, told)
