"""What is done with invitations on pages; they are made on the page of the members."""

import uuid
from collections.abc import Sequence

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from kebab.http.api.errors import NotFound
from kebab.http.site_address import site_address
from kebab.people.invitations.lifecycle import withdraw_invitation
from kebab.people.invitations.mail import SentInvitation, invite_by_mail
from kebab.people.models import Invitation, Role, Workspace
from kebab.people.pages.form_page import PeopleAct

#: The most invitations that are shown.
SHOWN_INVITATIONS = 50


def open_invitations(workspace: Workspace) -> Sequence[Invitation]:
    """Return the newest invitations that were neither accepted nor withdrawn, those that ran out too."""
    waiting = workspace.invitations.with_standing().filter(accepted_at=None, withdrawn_at=None)
    return list(waiting.order_by("-created_at", "id")[:SHOWN_INVITATIONS])


def say_sent(request: HttpRequest, sent: SentInvitation) -> None:
    """Tell on the next page that somebody is invited, and whether the mail went."""
    email = sent.invitation.email
    if sent.is_mailed:
        messages.success(request, f"An invitation is on its way to {email}.")
    else:
        messages.warning(
            request,
            f"{email} is invited, but this server sends no mail. Whoever runs it finds the link among the"
            " mails that were not sent, and can pass it on.",
        )


class InvitationWithdrawal(PeopleAct):
    """Makes an invitation's link useless."""

    def act(self, request: HttpRequest, workspace: Workspace, invitation_id: uuid.UUID) -> HttpResponse:
        """Do it. Raises NotFound, Forbidden for one to a role above the caller's."""
        withdraw_invitation(self.access, invitation_id)
        messages.success(request, "The invitation is withdrawn. Its link opens nothing any more.")
        return redirect("people", workspace.slug)


class InvitationAgain(PeopleAct):
    """Invites the same address anew: only the hash of the first link is kept, so it can't be sent again."""

    def act(self, request: HttpRequest, workspace: Workspace, invitation_id: uuid.UUID) -> HttpResponse:
        """Do it; the first link ends. Raises NotFound, and what `invite` does."""
        earlier = workspace.invitations.filter(pk=invitation_id).first()
        if earlier is None:
            raise NotFound
        still_there = workspace.groups.filter(pk__in=earlier.group_ids).values_list("pk", flat=True)
        sent = invite_by_mail(
            self.access,
            site_address(request),
            email=earlier.email,
            role=Role(earlier.role),
            groups=list(still_there),
        )
        if sent.link is not None:
            return self.render(request, "people/pages/invited.html", sent=sent)
        say_sent(request, sent)
        return redirect("people", workspace.slug)
