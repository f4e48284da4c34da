"""Invites somebody by Django's mail framework: the mail goes once the invitation is committed."""

import logging
import uuid
from collections.abc import Collection
from dataclasses import dataclass
from smtplib import SMTPException

from django.conf import settings
from django.core.mail import EmailMessage
from django.template.loader import render_to_string

from kebab.people.access.caller import Access
from kebab.people.invitations.lifecycle import invite
from kebab.people.invitations.limits import count_invitation
from kebab.people.models import Invitation, Role
from kebab.people.models.invitation import OPERATOR_PREFIX

logger = logging.getLogger(__name__)

#: Backends that bring nothing to anybody: what is sent by them is seen by the operator alone.
_UNDELIVERED = frozenset(
    f"django.core.mail.backends.{kind}.EmailBackend" for kind in ("console", "dummy", "filebased", "locmem")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentInvitation:
    """An invitation just made."""

    invitation: Invitation
    #: Where it is accepted, for those who may pass it on; None for all others.
    link: str | None
    #: Whether a mail server has taken the mail.
    is_mailed: bool


def invite_by_mail(
    access: Access, site: str, *, email: str, role: Role, groups: Collection[uuid.UUID] = ()
) -> SentInvitation:
    """Invite whoever has this address, and mail the link, which begins with `site`; outside of a transaction.

    Raises RateLimited, and what `invite` raises.
    """
    count_invitation(access, email)
    invited = invite(access, email, role, groups)
    link = f"{site}{invited.path}"
    return SentInvitation(
        invitation=invited.invitation,
        link=link if may_see_link(access) else None,
        is_mailed=send_invitation(invited.invitation, link),
    )


def mail_is_delivered() -> bool:
    """Return whether mails leave this machine."""
    return settings.EMAIL_BACKEND not in _UNDELIVERED


def may_see_link(access: Access) -> bool:
    """Return whether who invites is told the link: an operator, who can read the mails that stay on this
    machine.

    Anybody else could accept it in the place of the invited, and have an account in their name.
    """
    return not mail_is_delivered() and access.user is not None and access.user.is_superuser


def send_invitation(invitation: Invitation, link: str) -> bool:
    """Send the absolute `link` to the invited address; call it outside of a transaction.

    Gives False, and logs why, when no mail server takes it: the invitation stands.
    """
    facts = {
        "workspace": " ".join(invitation.workspace.name.split()),  # a header has no line breaks
        "invited_by": _who(invitation.invited_by),
        "role": invitation.role,
        "expires_at": invitation.expires_at,
        "link": link,
    }
    subject = render_to_string("people/invitation_subject.txt", facts).strip()
    message = EmailMessage(subject, render_to_string("people/invitation.txt", facts), to=[invitation.email])
    try:
        message.send()
    except (SMTPException, OSError) as error:
        logger.warning("The mail of invitation %s was not sent: %s", invitation.pk, type(error).__name__)
        return False
    return mail_is_delivered()


def _who(invited_by: str) -> str:
    return "An operator" if invited_by.startswith(OPERATOR_PREFIX) else invited_by
