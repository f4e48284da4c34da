"""Pages of members: the list with open invitations, and the page of one member."""

import uuid
from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from kebab.http.site_address import site_address
from kebab.identity.models import Membership, Role, Workspace
from kebab.identity.permissions import Need
from kebab.pages.pagination import list_page
from kebab.people.groups import set_groups
from kebab.people.invitations.mail import invite_by_mail
from kebab.people.members import change_role, count_usable_tokens, get_member, members_of, remove_member
from kebab.people.pages.form_page import FormPage, PeopleAction
from kebab.people.pages.forms import InvitationForm, MemberGroupsForm, RoleForm, group_names_by_id, roles_for
from kebab.people.pages.invitations import announce_invitation, open_invitations


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRow:
    """A member with the names of their groups."""

    membership: Membership
    groups: tuple[str, ...]


class PeoplePage(FormPage):
    """The members of the workspace, and its open invitations."""

    def act(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Invite somebody; callers who may see the link get it only here. Raises what `invite` raises."""
        self.form = form = InvitationForm(self.access, request.POST)
        if not form.is_valid():
            return self.render_invalid(request, form)
        sent = invite_by_mail(self.access, site_address(request), **form.cleaned_data)
        if sent.link is not None:
            return self.page(request, sent=sent)
        announce_invitation(request, sent)
        return redirect("people", workspace.slug)

    def page(self, request: HttpRequest, form: Any = None, **context: Any) -> HttpResponse:
        """Render the members, and the invitation form."""
        workspace = self.access.workspace
        listed = list_page(self, request, members_of(workspace), ordering=("id",))
        named = group_names_by_id(workspace, {group for row in listed.rows for group in row.group_ids})
        context |= {
            "form": InvitationForm(self.access, initial={"role": Role.VIEWER}) if form is None else form,
            "list": listed,
            "members": [_member_row(row, named) for row in listed.rows],
            "invitations": open_invitations(workspace),
            "granted": {role.value: role.label for role in roles_for(self.access)},
        }
        return self.render(request, "people/pages/people.html", **context)


class PersonPage(FormPage):
    """One member: role, groups and removal."""

    def act(self, request: HttpRequest, workspace: Workspace, user_id: int) -> HttpResponse:
        """Change the member's role. Raises NotFound, Forbidden, Conflict for the last owner."""
        get_member(workspace, user_id)
        self.form = form = RoleForm(self.access, request.POST)
        if not form.is_valid():
            return self.render_invalid(request, form)
        changed = change_role(self.access, user_id, form.cleaned_data["role"])
        facts = {"email": changed.user.email, "role": changed.get_role_display()}
        messages.success(request, _("%(email)s now has the role %(role)s") % facts)
        if self.access.user == changed.user:
            return redirect("home")  # with a lower role they may not see this page
        return redirect("people", workspace.slug)

    def page(self, request: HttpRequest, form: Any = None, **context: Any) -> HttpResponse:
        """Render the member's page. Raises NotFound."""
        workspace = self.access.workspace
        member = get_member(workspace, self.kwargs["user_id"])
        groups = [str(group) for group in member.group_ids]
        context |= {
            "member": member,
            "is_self": self.access.user == member.user,
            "form": RoleForm(self.access, initial={"role": member.role}) if form is None else form,
            "groups_form": MemberGroupsForm(workspace, initial={"groups": groups}),
            "tokens_left": count_usable_tokens(workspace, member.user),
        }
        return self.render(request, "people/pages/person.html", **context)


class PersonGroups(PeopleAction):
    """Changes the groups of a member."""

    def act(self, request: HttpRequest, workspace: Workspace, user_id: int) -> HttpResponse:
        """Change the groups. Raises NotFound."""
        get_member(workspace, user_id)
        form = MemberGroupsForm(workspace, request.POST)
        if form.is_valid():
            chosen = form.cleaned_data
            set_groups(self.access, user_id, chosen["groups"], among=chosen["offered"])
            messages.success(request, _("Groups saved"))
        else:
            messages.error(request, " ".join(str(error) for each in form.errors.values() for error in each))
        return redirect("person", workspace.slug, user_id)


class PersonRemoval(PeopleAction):
    """Ends a membership: another member's, or one's own."""

    need: ClassVar[Need] = Need(role=Role.VIEWER, scope=None)

    def act(self, request: HttpRequest, workspace: Workspace, user_id: int) -> HttpResponse:
        """Remove the member. Raises NotFound, Forbidden, Conflict for the last owner."""
        remove_member(self.access, user_id)
        if self.access.user is not None and self.access.user.pk == user_id:
            messages.success(request, _("You left %(name)s") % {"name": workspace.name})
            return redirect("home")
        messages.success(request, _("Member removed"))
        return redirect("people", workspace.slug)


def _member_row(membership: Any, named: dict[uuid.UUID, str]) -> MemberRow:
    names = sorted(named[group] for group in membership.group_ids if group in named)
    return MemberRow(membership=membership, groups=tuple(names))
