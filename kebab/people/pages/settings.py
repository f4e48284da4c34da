"""Pages of a workspace's settings: name, search settings, deletion."""

from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from kebab.http.api.errors import Problem
from kebab.http.api.permissions import Need
from kebab.pages.page import apply_problem
from kebab.people.deletion import delete_workspace
from kebab.people.models import Role, TokenScope, Workspace
from kebab.people.pages.form_page import FormPage
from kebab.people.pages.setting_forms import DeletionForm, NameForm, SettingsForm
from kebab.people.workspaces import change_workspace

#: The prefix of error codes of guards that `force` overrides.
_GATE = "quality_gate"


class SettingsPage(FormPage):
    """Name and slug; the page's other forms post elsewhere, and are shown here again when refused."""

    need: ClassVar[Need] = Need(role=Role.ADMIN, scope=TokenScope.MANAGE)
    tab: ClassVar[str] = "settings"
    #: The form that this view handles, by its name in the template context.
    form_name: ClassVar[str] = "form"

    def act(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Change name and slug. Raises InvalidRequest, Conflict for a taken slug."""
        self.form = form = NameForm(request.POST)
        if not form.is_valid():
            return self.render_invalid(request, form)
        changed = change_workspace(self.access, **form.cleaned_data)
        messages.success(request, "The name is saved.")
        return redirect("settings", changed.slug)

    def page(self, request: HttpRequest, form: forms.Form | None = None, **context: Any) -> HttpResponse:
        """Render the page with its three forms."""
        workspace = self.access.workspace
        shown = {
            "form": NameForm(initial={"name": workspace.name, "slug": workspace.slug}),
            "settings_form": SettingsForm(workspace),
            "deletion_form": DeletionForm(workspace),
            "is_owner": self.access.role == Role.OWNER,
        }
        if form is not None:
            shown[self.form_name] = form
        return self.render(request, "people/pages/settings.html", **shown, **context)


class SettingsUpdate(SettingsPage):
    """Changes the workspace's search settings."""

    http_method_names = ("post",)
    form_name: ClassVar[str] = "settings_form"

    def act(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Change the settings. Raises the error of a guard; `force` overrides it, which is audited."""
        self.form = form = SettingsForm(workspace, request.POST)
        if not form.is_valid():
            return self.render_invalid(request, form)
        change_workspace(self.access, settings=form.cleaned_data, force="force" in request.POST)
        messages.success(request, "The settings are saved.")
        return redirect("settings", workspace.slug)

    def render_problem(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """Render a guard's objections, with a button to change the settings anyway."""
        if self.form is None or not problem.code.startswith(_GATE):
            return super().render_problem(request, problem)
        reasons = [f"{error.field}: {error.message}" for error in problem.errors]
        self.form.add_error(None, problem.detail)
        return apply_problem(self.page(request, self.form, reasons=reasons, may_force=True), problem)


class WorkspaceDeletion(SettingsPage):
    """Deletes the workspace with everything in it."""

    http_method_names = ("post",)
    need: ClassVar[Need] = Need(role=Role.OWNER, scope=None)
    form_name: ClassVar[str] = "deletion_form"

    def act(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Delete it, if its slug was typed."""
        form = DeletionForm(workspace, request.POST)
        if not form.is_valid():
            return self.render_invalid(request, form)
        name = workspace.name
        delete_workspace(self.access)
        messages.success(request, f"{name} is deleted, with everything in it.")
        return redirect("home")
