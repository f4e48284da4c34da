"""Pages of groups, to which reading of single sources can be restricted."""

import uuid
from typing import Any, ClassVar

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from kebab.identity.models import Membership, Workspace
from kebab.identity.models.user import normalize_email
from kebab.pages.page import list_page
from kebab.people.groups import (
    add_to_group,
    create_group,
    delete_group,
    get_group,
    group_sizes,
    remove_from_group,
    rename_group,
)
from kebab.people.members import members_of
from kebab.people.pages.form_page import AdditionForm, FormPage, GroupForm, PeopleAction

#: The most tokens listed on a group's page.
SHOWN_TOKENS = 50
#: The most members offered to add; others can be typed.
OFFERED_MEMBERS = 500


class GroupsPage(FormPage):
    """The groups, and the form that creates one."""

    def act(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Create a group. Raises Conflict for a taken name."""
        self.form = form = GroupForm(request.POST)
        if not form.is_valid():
            return self.render_invalid(request, form)
        group = create_group(self.access, form.cleaned_data["name"])
        messages.success(request, _("Group created. Add members below."))
        return redirect("group", workspace.slug, group.pk)

    def page(self, request: HttpRequest, form: Any = None, **context: Any) -> HttpResponse:
        """Render the groups by name."""
        workspace = self.access.workspace
        listed = list_page(self, request, workspace.groups.all(), ordering=("name",))
        context |= {
            "form": GroupForm() if form is None else form,
            "list": listed,
            "sizes": group_sizes(workspace, listed.rows),
        }
        return self.render(request, "people/pages/groups.html", **context)


class GroupPage(FormPage):
    """One group: its name, its members, the tokens in it."""

    list_name: ClassVar[str] = "members of a group"

    def act(self, request: HttpRequest, workspace: Workspace, group_id: uuid.UUID) -> HttpResponse:
        """Rename the group. Raises NotFound, Conflict for a taken name."""
        get_group(workspace, group_id)
        self.form = form = GroupForm(request.POST)
        if not form.is_valid():
            return self.render_invalid(request, form)
        rename_group(self.access, group_id, form.cleaned_data["name"])
        messages.success(request, _("Group renamed"))
        return redirect("group", workspace.slug, group_id)

    def page(
        self, request: HttpRequest, form: Any = None, *, addition: Any = None, **context: Any
    ) -> HttpResponse:
        """Render the group's page. Raises NotFound."""
        workspace = self.access.workspace
        group = get_group(workspace, self.kwargs["group_id"])
        members = members_of(workspace).filter(groups__group=group)
        others = Membership.objects.filter(workspace=workspace).exclude(groups__group=group).order_by("id")
        tokens = workspace.tokens.filter(groups__group=group).order_by("-created_at", "id")
        context |= {
            "size": group_sizes(workspace, [group])[0],
            "form": GroupForm(initial={"name": group.name}) if form is None else form,
            "addition": AdditionForm() if addition is None else addition,
            "list": list_page(self, request, members, ordering=("id",)),
            "tokens": tokens[:SHOWN_TOKENS],
            "candidates": others.values_list("user__email", "user__display_name")[:OFFERED_MEMBERS],
        }
        return self.render(request, "people/pages/group.html", **context)


class GroupAddition(GroupPage):
    """Adds a member to the group, by e-mail address."""

    http_method_names = ("post",)

    def act(self, request: HttpRequest, workspace: Workspace, group_id: uuid.UUID) -> HttpResponse:
        """Add the member. Raises NotFound for the group."""
        get_group(workspace, group_id)
        form = AdditionForm(request.POST)
        if form.is_valid():
            email = normalize_email(form.cleaned_data["email"])
            member = members_of(workspace).filter(user__email=email).first()
            if member is not None:
                add_to_group(self.access, group_id, member.user_id)
                messages.success(request, _("%(email)s added") % {"email": email})
                return redirect("group", workspace.slug, group_id)
            form.add_error("email", _("No member has this address. Invite them first."))
        response = self.page(request, addition=form)
        response.status_code = 400
        return response


@PeopleAction.of()
def remove_member_from_group(page: PeopleAction, group_id: uuid.UUID, user_id: int) -> HttpResponse:
    """Remove the member. Raises NotFound for a missing group, or if they aren't in it."""
    remove_from_group(page.access, group_id, user_id)
    return page.finish(_("Member removed from the group"), "group", group_id)


@PeopleAction.of()
def delete_shown_group(page: PeopleAction, group_id: uuid.UUID) -> HttpResponse:
    """Delete the group. Raises NotFound."""
    delete_group(page.access, group_id)
    return page.finish(_("Group deleted"), "groups")
