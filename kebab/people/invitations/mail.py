"""Invitation mails, sent by Django's mail framework once the invitation is committed."""

import logging
import uuid
from collections.abc import Collection
from dataclasses import dataclass
from smtplib import SMTPException

from django.conf import settings
from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from kebab.identity.caller import Access
from kebab.identity.models import Invitation, Role
from kebab.identity.operator_token import OPERATOR_PREFIX
from kebab.people.invitations.lifecycle import count_invitation, invite

logger = logging.getLogger(__name__)

#: Mail backends that deliver nothing: their mails are visible to the operator alone.
_UNDELIVERED = frozenset(
    f"django.core.mail.backends.{kind}.EmailBackend" for kind in ("console", "dummy", "filebased", "locmem")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentInvitation:
    """A new invitation, and whether its mail was sent."""

    invitation: Invitation
    #: The link, for callers who may pass it on; None for all others.
    link: str | None
    #: Whether a mail server has taken the mail.
    is_mailed: bool


def invite_by_mail(
    access: Access, site: str, *, email: str, role: Role, groups: Collection[uuid.UUID] = ()
) -> SentInvitation:
    """Invite an address and mail it the link, which begins with `site`; call it outside of a transaction.

    Raises RateLimited, and what `invite` raises.
    """
    if access.caller.operator is None:
        count_invitation(access, email)
    created = invite(access, email, role, groups)
    link = f"{site}{created.path}"
    return SentInvitation(
        invitation=created.invitation,
        link=link if may_see_link(access) else None,
        is_mailed=send_invitation(created.invitation, link),
    )


def mail_is_delivered() -> bool:
    """Return whether the mail backend sends mails to a server."""
    return settings.EMAIL_BACKEND not in _UNDELIVERED


def may_see_link(access: Access) -> bool:
    """Return whether the inviter may see the link: the command line, a superuser if mails stay here.

    Anybody else could accept it instead of the invited person, and get an account in their name.
    """
    if access.caller.operator is not None:
        return True
    return not mail_is_delivered() and access.user is not None and access.user.is_superuser


def send_invitation(invitation: Invitation, link: str) -> bool:
    """Send the absolute `link` to the invited address; call it outside of a transaction.

    Returns False, and logs the reason, if no mail server accepts it; the invitation stays open.
    """
    facts = {
        "workspace": " ".join(invitation.workspace.name.split()),  # a header has no line breaks
        "invited_by": _inviter_name(invitation.invited_by),
        "role": invitation.get_role_display(),
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


def _inviter_name(invited_by: str) -> str:
    return _("An operator") if invited_by.startswith(OPERATOR_PREFIX) else invited_by
