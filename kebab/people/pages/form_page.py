"""Pages with forms that are shown again, with the input and the errors, when they are refused."""

import uuid
from typing import Any, ClassVar

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from kebab.errors import Problem
from kebab.identity.caller import ADMINS, Access, Need
from kebab.identity.models import Group, Role, Workspace
from kebab.pages.page import ActionPage, PostAction, apply_problem
from kebab.people.groups import MAX_GROUPS, MAX_NAME_CHARS


class FormPage(ActionPage):
    """A page for owners and admins; `page` renders it with a new or a refused form."""

    need: ClassVar[Need] = ADMINS
    tab: ClassVar[str] = "people"
    #: The posted form, once it has been parsed.
    form: forms.Form | None = None

    def show(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Return the page with an empty form. Raises what `page` raises."""
        return self.page(request)

    def page(self, request: HttpRequest, form: forms.Form | None = None, **context: Any) -> HttpResponse:
        """Render the page, with an empty form if none is given."""
        raise NotImplementedError

    def render_invalid(self, request: HttpRequest, form: forms.Form) -> HttpResponse:
        """Render the page with the form's errors, status 400."""
        response = self.page(request, form)
        response.status_code = 400
        return response

    def render_problem(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """Render the page with `problem` in the posted form; without a form, an error page."""
        if self.form is None:
            return super().render_problem(request, problem)
        self.add_problem(self.form, problem)
        return apply_problem(self.page(request, self.form), problem)

    def add_problem(self, form: Any, problem: Problem) -> None:
        """Add `problem` to the posted form."""
        add_problem_to_form(form, problem)


class PeopleAction(PostAction):
    """An action of a form on another page; its error page links back to that page."""

    need: ClassVar[Need] = ADMINS
    tab: ClassVar[str] = "people"

    def render_problem(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """Render the error page with a link back."""
        if self.workspace is None or problem.status == 403:
            return super().render_problem(request, problem)
        back = reverse(self.tab, args=[self.workspace.slug])
        return apply_problem(self.render(request, "pages/problem.html", problem=problem, back=back), problem)


def add_problem_to_form(form: forms.Form, problem: Problem) -> None:
    """Add the errors of `problem` to the fields of a validated form, and the rest above them."""
    for error in problem.errors:
        form.add_error(error.field if error.field in form.fields else None, error.message)
    if not problem.errors:
        form.add_error(None, problem.detail or problem.title)


#: The most groups offered in a form.
OFFERED_GROUPS = 200
_ROLES = {
    Role.VIEWER: _("Viewer: search, read and ask"),
    Role.EDITOR: _("Editor: also manage sources and documents"),
    Role.ADMIN: _("Admin: also manage people, tokens and settings"),
    Role.OWNER: _("Owner: also delete the workspace"),
}


class GroupsField(forms.MultipleChoiceField):
    """Ids of at most `most` groups, offered by name; the domain checks that they exist."""

    widget = forms.CheckboxSelectMultiple

    def __init__(self, *, most: int = MAX_GROUPS, **options: Any) -> None:
        super().__init__(required=False, **options)
        self._most = most

    def clean(self, value: Any) -> list[uuid.UUID]:
        """Return the ids without duplicates. Raises ValidationError for invalid ids, and for too many."""
        given = sorted(set(super().clean(value)))
        if len(given) > self._most:
            raise forms.ValidationError(_("Choose at most %(count)d groups.") % {"count": self._most})
        return [uuid.UUID(each) for each in given]

    def valid_value(self, value: str) -> bool:
        """Return whether `value` is a UUID in canonical form."""
        try:
            return str(uuid.UUID(value)) == value
        except ValueError:
            return False


def offered_groups(workspace: Workspace) -> list[tuple[str, str]]:
    """Return id and name of the groups to offer, by name."""
    rows = workspace.groups.order_by("name").values_list("pk", "name")[:OFFERED_GROUPS]
    return [(str(group_id), name) for group_id, name in rows]


def group_names_by_id(workspace: Workspace, group_ids: set[uuid.UUID]) -> dict[uuid.UUID, str]:
    """Return the names of groups by id; one query, none without ids."""
    if not group_ids:
        return {}
    return dict(Group.objects.filter(workspace=workspace, pk__in=group_ids).values_list("pk", "name"))


def roles_for(access: Access) -> list[Role]:
    """Return the roles that the caller may grant, the lowest first."""
    level = 0 if access.role is None else access.role.level
    return [role for role in _ROLES if role.level <= level]


class RoleForm(forms.Form):
    """A role, out of those that the caller may grant."""

    role = forms.TypedChoiceField(label=_("Role"), coerce=Role)

    def __init__(self, access: Access, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        roles: Any = self.fields["role"]
        roles.choices = [(role.value, _ROLES[role]) for role in roles_for(access)]


class InvitationForm(RoleForm):
    """An invitation: address, role and groups."""

    email = forms.EmailField(
        label=_("Email"), max_length=254, widget=forms.EmailInput(attrs={"autocomplete": "off"})
    )
    groups = GroupsField(label=_("Groups"), help_text=_("They read sources restricted to these groups."))
    field_order = ("email", "role", "groups")

    def __init__(self, access: Access, *args: Any, **options: Any) -> None:
        super().__init__(access, *args, **options)
        offered: Any = self.fields["groups"]
        offered.choices = offered_groups(access.workspace)


class MemberGroupsForm(forms.Form):
    """A member's groups, and the groups that the form offered; it doesn't change others."""

    groups = GroupsField(label=_("Member of"), most=OFFERED_GROUPS)
    offered = GroupsField(widget=forms.MultipleHiddenInput, most=OFFERED_GROUPS)

    def __init__(self, workspace: Workspace, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        groups: Any = self.fields["groups"]
        groups.choices = offered_groups(workspace)
        self.initial["offered"] = [group_id for group_id, _ in groups.choices]


class GroupForm(forms.Form):
    """A group's name."""

    name = forms.CharField(
        label=_("Name"), max_length=MAX_NAME_CHARS, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )


class AdditionForm(forms.Form):
    """The address of a member to add to a group, offered by the page's list `candidates`."""

    email = forms.EmailField(
        label=_("Member"),
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "off", "list": "candidates"}),
    )
