"""Actions on open invitations, which are created on the members' page."""

import uuid
from collections.abc import Sequence

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from kebab.database.querysets import first_or_not_found
from kebab.http.site_address import site_address
from kebab.identity.models import Invitation, Role, Workspace
from kebab.people.invitations.lifecycle import withdraw_invitation
from kebab.people.invitations.mail import SentInvitation, invite_by_mail
from kebab.people.pages.form_page import PeopleAction

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


class InvitationWithdrawal(PeopleAction):
    """Withdraws an invitation."""

    def act(self, request: HttpRequest, workspace: Workspace, invitation_id: uuid.UUID) -> HttpResponse:
        """Withdraw it. Raises NotFound, Forbidden for one to a role above the caller's."""
        withdraw_invitation(self.access, invitation_id)
        messages.success(request, _("Invitation withdrawn. Its link no longer works."))
        return redirect("people", workspace.slug)


class InvitationRenewal(PeopleAction):
    """Invites the same address again, by a new link: only the hash of the first one is stored."""

    def act(self, request: HttpRequest, workspace: Workspace, invitation_id: uuid.UUID) -> HttpResponse:
        """Send a new invitation; the first link stops working. Raises NotFound, and what `invite` raises."""
        earlier = first_or_not_found(workspace.invitations.filter(pk=invitation_id))
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
        announce_invitation(request, sent)
        return redirect("people", workspace.slug)
