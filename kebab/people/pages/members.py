"""The members of a workspace: the list with who is invited, and the page of one."""

import uuid
from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from kebab.http.api.permissions import Need
from kebab.http.site_address import site_address
from kebab.pages.pagination import list_page
from kebab.people.groups import set_groups
from kebab.people.invitations.mail import invite_by_mail
from kebab.people.members import change_role, members_of, one_member, remove_member, usable_tokens_made_by
from kebab.people.models import Membership, Role, Workspace
from kebab.people.pages.form_page import FormPage, PeopleAct
from kebab.people.pages.forms import InvitationForm, MemberGroupsForm, RoleForm, names_of
from kebab.people.pages.invitations import open_invitations, say_sent


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownMember:
    """A member with the names of their groups."""

    membership: Membership
    groups: tuple[str, ...]


class PeoplePage(FormPage):
    """Who belongs to the workspace, and who is invited."""

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the page. Raises InvalidCursor."""
        return self.page(request)

    def act(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Invite somebody; who may pass the link on sees it here alone. Raises what `invite` does."""
        self.form = form = InvitationForm(self.access, request.POST)
        if not form.is_valid():
            return self.again(request, form)
        sent = invite_by_mail(self.access, site_address(request), **form.cleaned_data)
        if sent.link is not None:
            return self.page(request, sent=sent)
        say_sent(request, sent)
        return redirect("people", workspace.slug)

    def page(self, request: HttpRequest, form: Any = None, **context: Any) -> HttpResponse:
        """Return the members, and the form that invites."""
        workspace = self.access.workspace
        listed = list_page(self, request, members_of(workspace), ordering=("id",))
        named = names_of(workspace, {group for row in listed.rows for group in row.group_ids})
        context |= {
            "form": InvitationForm(self.access, initial={"role": Role.VIEWER}) if form is None else form,
            "list": listed,
            "members": [_shown(row, named) for row in listed.rows],
            "invitations": open_invitations(workspace),
        }
        return self.render(request, "people/pages/people.html", **context)


class PersonPage(FormPage):
    """One member: role, groups, and the way out."""

    def show(self, request: HttpRequest, workspace: Workspace, user_id: int) -> HttpResponse:
        """Return the page. Raises NotFound."""
        return self.page(request)

    def act(self, request: HttpRequest, workspace: Workspace, user_id: int) -> HttpResponse:
        """Return the member another role. Raises NotFound, Forbidden, Conflict for the last owner."""
        one_member(workspace, user_id)
        self.form = form = RoleForm(self.access, request.POST)
        if not form.is_valid():
            return self.again(request, form)
        changed = change_role(self.access, user_id, form.cleaned_data["role"])
        messages.success(request, f"{changed.user.email} is {changed.role} now.")
        if self.access.user == changed.user:
            return redirect("home")  # who has stepped down may not see this page
        return redirect("person", workspace.slug, user_id)

    def page(self, request: HttpRequest, form: Any = None, **context: Any) -> HttpResponse:
        """Return the member's page. Raises NotFound."""
        workspace = self.access.workspace
        member = one_member(workspace, self.kwargs["user_id"])
        groups = [str(group) for group in member.group_ids]  # type: ignore[attr-defined]
        context |= {
            "member": member,
            "is_self": self.access.user == member.user,
            "form": RoleForm(self.access, initial={"role": member.role}) if form is None else form,
            "groups_form": MemberGroupsForm(workspace, initial={"groups": groups}),
            "tokens_left": usable_tokens_made_by(workspace, member.user),
        }
        return self.render(request, "people/pages/person.html", **context)


class PersonGroups(PeopleAct):
    """Puts a member into groups, and takes them out."""

    def act(self, request: HttpRequest, workspace: Workspace, user_id: int) -> HttpResponse:
        """Do it. Raises NotFound."""
        member = one_member(workspace, user_id)
        form = MemberGroupsForm(workspace, request.POST)
        if form.is_valid():
            chosen = form.cleaned_data
            set_groups(self.access, user_id, chosen["groups"], among=chosen["offered"])
            messages.success(request, f"The groups of {member.user.email} are saved.")
        else:
            messages.error(request, " ".join(error for each in form.errors.values() for error in each))
        return redirect("person", workspace.slug, user_id)


class PersonRemoval(PeopleAct):
    """Ends a membership: another's, or one's own."""

    need: ClassVar[Need] = Need(role=Role.VIEWER, scope=None)

    def act(self, request: HttpRequest, workspace: Workspace, user_id: int) -> HttpResponse:
        """Do it. Raises NotFound, Forbidden, Conflict for the last owner."""
        left = remove_member(self.access, user_id)
        kept = f" {left} of the tokens they made still work." if left else ""
        if self.access.user is not None and self.access.user.pk == user_id:
            messages.success(request, f"You have left {workspace.name}.")
            return redirect("home")
        messages.success(request, f"The member is removed.{kept}")
        return redirect("people", workspace.slug)


def _shown(membership: Any, named: dict[uuid.UUID, str]) -> ShownMember:
    names = sorted(named[group] for group in membership.group_ids if group in named)
    return ShownMember(membership=membership, groups=tuple(names))
