"""A workspace's settings on pages: its name, how it searches, and its end."""

from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from kebab.http.api.errors import Problem
from kebab.http.api.permissions import Need
from kebab.pages.page import told
from kebab.people.deletion import delete_workspace
from kebab.people.models import Role, Scope, Workspace
from kebab.people.pages.form_page import FormPage
from kebab.people.pages.setting_forms import DeletionForm, NameForm, SettingsForm
from kebab.people.workspaces import change_workspace

#: The codes of what a guard refuses and `force` lets pass begin with this.
_GATE = "quality_gate"


class SettingsPage(FormPage):
    """Name and address; the other forms of the page post elsewhere, and are shown here when refused."""

    need: ClassVar[Need] = Need(role=Role.ADMIN, scope=Scope.MANAGE)
    tab: ClassVar[str] = "settings"
    #: The name, in the page's context, of the form that this one acts on.
    form_name: ClassVar[str] = "form"

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the page."""
        return self.page(request)

    def act(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Change name and slug. Raises InvalidRequest, Conflict for a taken slug."""
        self.form = form = NameForm(request.POST)
        if not form.is_valid():
            return self.again(request, form)
        changed = change_workspace(self.access, **form.cleaned_data)
        messages.success(request, "The name is saved.")
        return redirect("settings", changed.slug)

    def page(self, request: HttpRequest, form: forms.Form | None = None, **context: Any) -> HttpResponse:
        """Return the page with its three forms."""
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


class SettingsValues(SettingsPage):
    """Changes how the workspace searches."""

    http_method_names = ("post",)
    form_name: ClassVar[str] = "settings_form"

    def act(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Do it. Raises what a guard refuses it with; `force` has it let pass, which the audit log keeps."""
        self.form = form = SettingsForm(workspace, request.POST)
        if not form.is_valid():
            return self.again(request, form)
        change_workspace(self.access, settings=form.cleaned_data, force="force" in request.POST)
        messages.success(request, "The settings are saved.")
        return redirect("settings", workspace.slug)

    def refusal(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """Tell what a guard found, with the way to change it all the same."""
        if self.form is None or not problem.code.startswith(_GATE):
            return super().refusal(request, problem)
        reasons = [f"{error.field}: {error.message}" for error in problem.errors]
        self.form.add_error(None, problem.detail)
        return told(self.page(request, self.form, reasons=reasons, may_force=True), problem)


class WorkspaceDeletion(SettingsPage):
    """Deletes the workspace with everything in it."""

    http_method_names = ("post",)
    need: ClassVar[Need] = Need(role=Role.OWNER, scope=None)
    form_name: ClassVar[str] = "deletion_form"

    def act(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Do it, once its slug was typed."""
        form = DeletionForm(workspace, request.POST)
        if not form.is_valid():
            return self.again(request, form)
        name = workspace.name
        delete_workspace(self.access)
        messages.success(request, f"{name} is deleted, with everything in it.")
        return redirect("home")
