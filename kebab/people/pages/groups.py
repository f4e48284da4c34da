"""Groups on pages: whom the reading of single sources is narrowed to."""

import uuid
from typing import Any, ClassVar

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from kebab.pages.pagination import list_page
from kebab.people.groups import (
    GroupSize,
    add_to_group,
    create_group,
    delete_group,
    one_group,
    remove_from_group,
    rename_group,
    sizes,
)
from kebab.people.members import members_of
from kebab.people.models import Workspace
from kebab.people.models.user import normal_address
from kebab.people.pages.form_page import FormPage, PeopleAct
from kebab.people.pages.forms import AdditionForm, GroupForm

#: The most tokens that a group's page names.
SHOWN_TOKENS = 50


class GroupsPage(FormPage):
    """The groups, and the form that makes one."""

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the page. Raises InvalidCursor."""
        return self.page(request)

    def act(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Make a group. Raises Conflict for a taken name."""
        self.form = form = GroupForm(request.POST)
        if not form.is_valid():
            return self.again(request, form)
        group = create_group(self.access, form.cleaned_data["name"])
        messages.success(request, f"The group {group.name} is made. Put members into it.")
        return redirect("group", workspace.slug, group.pk)

    def page(self, request: HttpRequest, form: Any = None, **context: Any) -> HttpResponse:
        """Return the groups by name."""
        workspace = self.access.workspace
        listed = list_page(self, request, workspace.groups.all(), ordering=("name",))
        context |= {
            "form": GroupForm() if form is None else form,
            "list": listed,
            "sizes": sizes(workspace, listed.rows),
        }
        return self.render(request, "people/pages/groups.html", **context)


class GroupPage(FormPage):
    """One group: its name, its members, the tokens in it."""

    list_name: ClassVar[str] = "members of a group"

    def show(self, request: HttpRequest, workspace: Workspace, group_id: uuid.UUID) -> HttpResponse:
        """Return the page. Raises NotFound, InvalidCursor."""
        return self.page(request)

    def act(self, request: HttpRequest, workspace: Workspace, group_id: uuid.UUID) -> HttpResponse:
        """Rename the group. Raises NotFound, Conflict for a taken name."""
        one_group(workspace, group_id)
        self.form = form = GroupForm(request.POST)
        if not form.is_valid():
            return self.again(request, form)
        group = rename_group(self.access, group_id, form.cleaned_data["name"])
        messages.success(request, f"The group is called {group.name} now.")
        return redirect("group", workspace.slug, group_id)

    def page(
        self, request: HttpRequest, form: Any = None, *, addition: Any = None, **context: Any
    ) -> HttpResponse:
        """Return the group's page. Raises NotFound."""
        workspace = self.access.workspace
        group = one_group(workspace, self.kwargs["group_id"])
        members = members_of(workspace).filter(groups__group=group)
        tokens = workspace.tokens.filter(groups__group=group).order_by("-created_at", "id")
        context |= {
            "size": sizes(workspace, [group])[0],
            "form": GroupForm(initial={"name": group.name}) if form is None else form,
            "addition": AdditionForm() if addition is None else addition,
            "list": list_page(self, request, members, ordering=("id",)),
            "tokens": tokens[:SHOWN_TOKENS],
        }
        return self.render(request, "people/pages/group.html", **context)


class GroupAddition(GroupPage):
    """Puts a member into the group, by e-mail address."""

    http_method_names = ("post",)

    def act(self, request: HttpRequest, workspace: Workspace, group_id: uuid.UUID) -> HttpResponse:
        """Do it. Raises NotFound for the group."""
        one_group(workspace, group_id)
        form = AdditionForm(request.POST)
        if form.is_valid():
            email = normal_address(form.cleaned_data["email"])
            member = members_of(workspace).filter(user__email=email).first()
            if member is not None:
                add_to_group(self.access, group_id, member.user_id)
                messages.success(request, f"{email} is in the group.")
                return redirect("group", workspace.slug, group_id)
            form.add_error("email", "No member has this address; invite them first.")
        response = self.page(request, addition=form)
        response.status_code = 400
        return response


class GroupRemoval(PeopleAct):
    """Takes a member out of a group."""

    def act(
        self, request: HttpRequest, workspace: Workspace, group_id: uuid.UUID, user_id: int
    ) -> HttpResponse:
        """Do it. Raises NotFound for a group, or for one who isn't in it."""
        remove_from_group(self.access, group_id, user_id)
        messages.success(request, "The member is taken out of the group.")
        return redirect("group", workspace.slug, group_id)


class GroupDeletion(PeopleAct):
    """Deletes a group."""

    def act(self, request: HttpRequest, workspace: Workspace, group_id: uuid.UUID) -> HttpResponse:
        """Do it. Raises NotFound."""
        messages.success(request, _told(delete_group(self.access, group_id)))
        return redirect("groups", workspace.slug)


def _told(size: GroupSize) -> str:
    said = f"The group {size.group.name} is deleted."
    if not size.source_count:
        return said
    return (
        f"{said} What was restricted to it stays restricted: without another group only owners and admins"
        " read it now."
    )
