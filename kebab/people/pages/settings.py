"""Pages of a workspace's settings, one for each section, and of its deletion."""

from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.utils.formats import localize_input, sanitize_separators
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from kebab.errors import Problem
from kebab.identity.caller import MANAGERS, OWNERS, Need
from kebab.identity.models import Workspace
from kebab.pages.page import apply_problem
from kebab.people.pages.form_page import FormPage
from kebab.people.workspace_settings.registry import Preference, known_preferences
from kebab.people.workspaces import MAX_NAME_CHARS, change_workspace, delete_workspace

_YES_NO = (("true", _("yes")), ("false", _("no")))
_PLAIN = forms.TextInput(attrs={"autocomplete": "off"})


class DeletionForm(forms.Form):
    """The slug, typed to confirm the deletion of the workspace."""

    slug = forms.CharField(label=_("Type the URL name to confirm"), max_length=63, widget=_PLAIN)

    def __init__(self, workspace: Workspace, posted: QueryDict | None = None) -> None:
        super().__init__(posted)
        self._slug = workspace.slug

    def clean_slug(self) -> str:
        """Return the slug. Raises ValidationError for another workspace's."""
        slug: str = self.cleaned_data["slug"]
        if slug != self._slug:
            raise forms.ValidationError(_("This is not %(slug)s.") % {"slug": self._slug})
        return slug


class SettingsForm(forms.Form):
    """Settings of one section; the general one has name and slug. An empty field restores the default."""

    name = forms.CharField(label=_("Name"), max_length=MAX_NAME_CHARS, widget=_PLAIN)
    slug = forms.CharField(
        label=_("URL name"),
        max_length=63,
        widget=_PLAIN,
        help_text=_("Lower-case letters, digits and hyphens. Links with the old one stop working."),
    )

    def __init__(self, workspace: Workspace, section: str, posted: QueryDict | None = None) -> None:
        initial = {name: _format_value(value) for name, value in workspace.settings.items()}
        super().__init__(posted, initial={**initial, "name": workspace.name, "slug": workspace.slug})
        if section != "general":
            del self.fields["name"], self.fields["slug"]
        self._known = tuple(known for known in known_preferences().values() if known.section == section)
        for known in self._known:
            self.fields[known.name] = _create_field(known, initial.get(known.name, ""))

    def clean(self) -> dict[str, Any]:
        """Return the values by name, None for a default; errors are added to their fields."""
        cleaned = super().clean() or {}
        for known in self._known:
            text = cleaned.get(known.name, "")
            if text == "":
                cleaned[known.name] = None
                continue
            try:
                cleaned[known.name] = known.validate(_parse_value(text, known.default))
            except ValueError as error:
                self.add_error(known.name, str(error))
        return cleaned

    def changes(self) -> dict[str, Any]:
        """Return the fields of `change_workspace`; the settings of other sections stay."""
        settings = dict(self.cleaned_data)
        named: dict[str, Any] = {name: settings.pop(name) for name in ("name", "slug") if name in settings}
        return {**named, "settings": settings}


def _create_field(known: Preference, stored: str) -> forms.Field:
    default = "" if known.default is None else _format_value(known.default)
    field_options: dict[str, Any] = {"label": known.label, "help_text": known.about, "required": False}
    choices = _YES_NO if isinstance(known.default, bool) else tuple(known.choices() if known.choices else ())
    if not choices:
        is_number = isinstance(known.default, int | float)
        attributes = {"autocomplete": "off", "placeholder": default}
        attributes |= {"inputmode": "decimal"} if is_number else {}
        return forms.CharField(max_length=4_000, widget=forms.TextInput(attrs=attributes), **field_options)
    if stored and stored not in dict(choices):  # an embedder that the operator has removed stays visible
        choices = (*choices, (stored, stored))
    named = dict(choices).get(default, default or _("chosen by the server"))
    return forms.ChoiceField(
        choices=[("", format_lazy(_("Default: {name}"), name=named)), *choices], **field_options
    )


def _format_value(value: Any) -> str:
    """Return a setting's value as form input in the reader's language."""
    return ("true" if value else "false") if isinstance(value, bool) else str(localize_input(value))


def _parse_value(text: str, default: Any) -> Any:
    """Return form input as a value of the default's type. Raises ValueError."""
    if isinstance(default, bool):
        return text == "true"
    if isinstance(default, int | float):
        try:
            number = str(sanitize_separators(text))
            return int(number) if isinstance(default, int) else float(number)
        except ValueError:
            wrong = _("Enter a whole number.") if isinstance(default, int) else _("Enter a number.")
            raise ValueError(wrong) from None
    return text


class SettingsPage(FormPage):
    """One section of the settings; the general one has the name and the slug, too."""

    need: ClassVar[Need] = MANAGERS
    tab: ClassVar[str] = "settings"
    section: ClassVar[str] = "general"
    template: ClassVar[str] = "people/pages/settings.html"

    def act(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Save the section. Raises InvalidRequest, Conflict for a taken slug, an error of a guard."""
        self.form = form = self.new_form(request.POST)
        if not form.is_valid():
            return self.render_invalid(request, form)
        changed = change_workspace(self.access, **form.changes(), force="force" in request.POST)
        messages.success(request, _("Settings saved"))
        route = "settings" if self.section == "general" else f"settings-{self.section}"
        return redirect(route, changed.slug)

    def page(self, request: HttpRequest, form: forms.Form | None = None, **context: Any) -> HttpResponse:
        """Render the section."""
        form = self.new_form() if form is None else form
        return self.render(request, self.template, form=form, section=self.section, **context)

    def render_problem(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """Render a guard's objections, with a box to change the settings anyway."""
        if self.form is None or not problem.may_force:
            return super().render_problem(request, problem)
        reasons = [f"{error.field}: {error.message}" for error in problem.errors]
        self.form.add_error(None, problem.detail)
        return apply_problem(self.page(request, self.form, reasons=reasons, may_force=True), problem)

    def new_form(self, posted: Any = None) -> Any:
        """Return the form of the section."""
        return SettingsForm(self.access.workspace, self.section, posted)


class WorkspaceDeletion(SettingsPage):
    """Deletes the workspace with everything in it."""

    need: ClassVar[Need] = OWNERS
    section: ClassVar[str] = "deletion"
    template: ClassVar[str] = "people/pages/workspace_deletion.html"

    def act(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Delete it, if its slug was typed."""
        form = self.new_form(request.POST)
        if not form.is_valid():
            return self.render_invalid(request, form)
        name = workspace.name
        delete_workspace(self.access)
        messages.success(request, _("%(name)s deleted") % {"name": name})
        return redirect("home")

    def new_form(self, posted: Any = None) -> Any:
        """Return the form in which the slug is typed."""
        return DeletionForm(self.access.workspace, posted)
