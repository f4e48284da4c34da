"""Pages of members: the list with open invitations, the page of one member, and access reports."""

import uuid
from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from kebab.database.querysets import first_or_not_found
from kebab.errors import NotFound
from kebab.http.site_address import site_address
from kebab.identity.caller import ADMINS, MEMBERS
from kebab.identity.models import Invitation, Role, Workspace
from kebab.pages.page import WorkspacePage, list_page
from kebab.people.access_report import explain_access, find_caller
from kebab.people.groups import set_groups
from kebab.people.invitations import SentInvitation, invite_by_mail, withdraw_invitation
from kebab.people.members import change_role, count_usable_tokens, get_member, members_of, remove_member
from kebab.people.pages.form_page import (
    FormPage,
    InvitationForm,
    MemberGroupsForm,
    PeopleAction,
    RoleForm,
    group_names_by_id,
    roles_for,
)

#: The most invitations shown.
SHOWN_INVITATIONS = 50


def open_invitations(workspace: Workspace) -> Sequence[Invitation]:
    """Return the newest invitations that were neither accepted nor withdrawn, expired ones too."""
    waiting = workspace.invitations.with_is_backed().filter(accepted_at=None, withdrawn_at=None)
    return list(waiting.order_by("-created_at", "id")[:SHOWN_INVITATIONS])


def announce_invitation(request: HttpRequest, sent: SentInvitation) -> None:
    """Add a message for the next page that somebody is invited, and whether the mail was sent."""
    email = sent.invitation.email
    if sent.is_mailed:
        messages.success(request, _("Invitation sent to %(email)s") % {"email": email})
    else:
        messages.warning(
            request,
            _(
                "%(email)s is invited, but this server doesn’t send email. Whoever runs it can find the link"
                " among the unsent emails and pass it on."
            )
            % {"email": email},
        )


@PeopleAction.of()
def withdraw(page: PeopleAction, invitation_id: uuid.UUID) -> HttpResponse:
    """Withdraw it. Raises NotFound, Forbidden for one to a role above the caller's."""
    withdraw_invitation(page.access, invitation_id)
    return page.finish(_("Invitation withdrawn. Its link no longer works."), "people")


@PeopleAction.of()
def renew(page: PeopleAction, invitation_id: uuid.UUID) -> HttpResponse:
    """Send a new invitation; the first link stops working. Raises NotFound, and what `invite` raises."""
    earlier = first_or_not_found(page.access.workspace.invitations.filter(pk=invitation_id))
    still_there = page.access.workspace.groups.filter(pk__in=earlier.group_ids).values_list("pk", flat=True)
    sent = invite_by_mail(
        page.access,
        site_address(page.request),
        email=earlier.email,
        role=Role(earlier.role),
        groups=list(still_there),
    )
    if sent.link is not None:
        return page.render(page.request, "people/pages/invited.html", sent=sent)
    announce_invitation(page.request, sent)
    return redirect("people", page.access.workspace.slug)


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
            "members": [
                {
                    "membership": row,
                    "groups": sorted(named[group] for group in row.group_ids if group in named),
                }
                for row in listed.rows
            ],
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


@PeopleAction.of()
def change_groups(page: PeopleAction, user_id: int) -> HttpResponse:
    """Change the groups. Raises NotFound."""
    get_member(page.access.workspace, user_id)
    form = MemberGroupsForm(page.access.workspace, page.request.POST)
    if form.is_valid():
        chosen = form.cleaned_data
        set_groups(page.access, user_id, chosen["groups"], among=chosen["offered"])
        messages.success(page.request, _("Groups saved"))
    else:
        messages.error(page.request, " ".join(str(error) for each in form.errors.values() for error in each))
    return redirect("person", page.access.workspace.slug, user_id)


@PeopleAction.of(need=MEMBERS)
def remove_person(page: PeopleAction, user_id: int) -> HttpResponse:
    """Remove the member. Raises NotFound, Forbidden, Conflict for the last owner."""
    remove_member(page.access, user_id)
    if page.access.user is not None and page.access.user.pk == user_id:
        messages.success(page.request, _("You left %(name)s") % {"name": page.access.workspace.name})
        return redirect("home")
    return page.finish(_("Member removed"), "people")


@WorkspacePage.of(need=ADMINS, tab="people")
def access_page(page: WorkspacePage, **named: Any) -> HttpResponse:
    """Return the access report of a member or a token, for owners and admins. Raises NotFound.

    It is on all sources, or on the `source` or `document` of the query; one that doesn't exist is marked as
    unknown.
    """
    request, workspace = page.request, page.access.workspace
    caller = find_caller(workspace, **named)
    source, document = (request.GET.get(name, "").strip()[:63] for name in ("source", "document"))
    try:
        item: dict[str, Any] = {"source": source or None}
        if document:
            item = {"document": _parse_id(document)}
        report, is_unknown = explain_access(workspace, caller, **item), False
    except NotFound:
        report, is_unknown = explain_access(workspace, caller), True
    return page.render(
        request,
        "people/pages/access.html",
        report=report,
        back=reverse("person" if "user_id" in named else "token", args=[workspace.slug, *named.values()]),
        source=source,
        document=document,
        is_unknown=is_unknown,
    )


def _parse_id(text: str) -> uuid.UUID:
    """Return the id of a document. Raises NotFound for another text."""
    try:
        return uuid.UUID(text)
    except ValueError as error:
        raise NotFound from error
