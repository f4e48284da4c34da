"""Pages of a workspace's settings, one for each section, and of its deletion."""

from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from kebab.errors import Problem
from kebab.identity.caller import MANAGERS, Need
from kebab.identity.models import Role, Workspace
from kebab.pages.page import apply_problem
from kebab.people.deletion import delete_workspace
from kebab.people.pages.form_page import FormPage
from kebab.people.pages.setting_forms import DeletionForm, SettingsForm
from kebab.people.workspaces import change_workspace


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

    need: ClassVar[Need] = Need(role=Role.OWNER, scope=None)
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
