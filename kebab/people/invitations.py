"""The life cycle of invitations: links, valid once and for a week, that make the invited address a member.

The link holds 256 random bits; only their SHA-256 is stored. Only the invited address and operators get it,
so that creating an account through it proves ownership of the address. An invitation can be accepted while
its inviter may still grant its role: one left behind by a removed admin is void. To a visitor every
invitation that can't be accepted looks like one that never existed.
"""

import hashlib
import logging
import re
import secrets
import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from smtplib import SMTPException

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.db import IntegrityError, transaction
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext as _

from kebab.database.querysets import first_or_not_found
from kebab.errors import Conflict, FieldError, Forbidden, InvalidRequest
from kebab.http.rate_limits.rules import check_room, count, email_fingerprint, parse_limit
from kebab.identity.caller import Access
from kebab.identity.models import Group, GroupMember, Invitation, Membership, Role, User
from kebab.identity.models.user import normalize_email
from kebab.identity.operator_token import OPERATOR_PREFIX
from kebab.people import audit
from kebab.people.groups import lock_groups
from kebab.people.members import check_grant
from kebab.tenancy.current_workspace import acting_everywhere, acting_in

LIFETIME = timedelta(days=7)
_SECRET = re.compile(r"\A[A-Za-z0-9_-]{43}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationWithSecret:
    """A new invitation and its secret, which can't be recovered later."""

    invitation: Invitation
    secret: str

    @property
    def path(self) -> str:
        """Return the path of its link, below the site's root."""
        return f"/invitations/{self.secret}"


def invite(
    access: Access, email: str, role: Role, groups: Collection[uuid.UUID] = ()
) -> InvitationWithSecret:
    """Invite an e-mail address; earlier open invitations to it are withdrawn.

    Raises InvalidRequest for an undeliverable address, Forbidden for a role above the caller's, granted or
    withdrawn, Unprocessable for groups that don't exist, Conflict for a member.
    """
    check_grant(access, role)
    address, secret = _validate_address(email), secrets.token_urlsafe(32)
    with transaction.atomic():
        _check_no_member(access, address)
        for earlier in access.workspace.invitations.open().filter(email=address):
            withdraw_invitation(access, earlier.pk)
        named = lock_groups(access.workspace.pk, groups)  # after the invitation, as accepting does
        invitation = Invitation.objects.create(
            workspace=access.workspace,
            email=address,
            role=role,
            group_ids=[group.pk for group in named],
            secret_sha256=_digest(secret),
            invited_by=access.actor,
            expires_at=timezone.now() + LIFETIME,
        )
        invitation.is_backed = True
        names = sorted(group.name for group in named)
        audit.record(access, "invitation.made", address, id=str(invitation.pk), role=role, groups=names)
    return InvitationWithSecret(invitation=invitation, secret=secret)


def withdraw_invitation(access: Access, invitation_id: uuid.UUID) -> None:
    """Withdraw an invitation, at once and for good; an accepted or withdrawn one is left alone.

    Raises NotFound, Forbidden for one to a role above the caller's.
    """
    with transaction.atomic():
        invitation = first_or_not_found(
            access.workspace.invitations.select_for_update().filter(pk=invitation_id)
        )
        check_grant(access, Role(invitation.role))
        if invitation.accepted_at is not None or invitation.withdrawn_at is not None:
            return
        invitation.withdrawn_at = timezone.now()
        invitation.save(update_fields=["withdrawn_at"])
        audit.record(access, "invitation.withdrawn", invitation.email, id=str(invitation.pk))


def find_invitation(secret: str) -> Invitation | None:
    """Return the open invitation with this secret, its workspace loaded; else None.

    One query by a unique index, none for a malformed secret. No rights are needed.
    """
    if not _SECRET.match(secret):
        return None
    with acting_everywhere():  # its workspace isn't known before it is found
        matching = Invitation.objects.open().select_related("workspace")
        return matching.filter(secret_sha256=_digest(secret)).first()


def is_invited(email: str) -> bool:
    """Return whether an open invitation to this address exists in any workspace."""
    with acting_everywhere():
        return Invitation.objects.open().filter(email=email).exists()


def needs_account(invitation: Invitation) -> bool:
    """Return whether the invited address has no account yet, so that accepting creates one."""
    return not User.objects.filter(email=invitation.email).exists()


def accept_invitation(invitation: Invitation, user: User) -> Membership:
    """Make the signed-in `user` a member; an existing member keeps role and groups.

    Holding the link proves ownership of the address. Raises NotFound if the invitation is no longer open,
    Forbidden if it is for another address.
    """
    if user.email != invitation.email:
        raise Forbidden(
            f"This invitation is for {invitation.email}; you are signed in as {user.email}.",
            code="invited_is_another",
        )
    with acting_in(invitation.workspace_id), transaction.atomic():
        membership = _create_membership(_claim(invitation), user)
        if not user.has_proved_email:
            user.prove_email()
        return membership


def accept_as_new_user(invitation: Invitation, *, password: str, display_name: str = "") -> Membership:
    """Create an account for the invited address and make it a member; the caller has checked the password.

    Raises NotFound if the invitation is no longer open, Conflict if the address has an account: its owner
    signs in instead.
    """
    with acting_in(invitation.workspace_id), transaction.atomic():
        claimed = _claim(invitation)
        user = _create_user(claimed, password, display_name)
        with acting_everywhere():  # an account belongs to no workspace
            audit.record_person(user.email, "account.created", user.email, by="invitation")
        return _create_membership(claimed, user)


def _claim(invitation: Invitation) -> Invitation:
    """Lock the invitation and mark it as accepted. Raises NotFound if it is no longer open."""
    rows = Invitation.objects.filter(workspace=invitation.workspace_id, pk=invitation.pk)
    locked = first_or_not_found(rows.select_for_update(of=("self",)).open().select_related("workspace"))
    locked.accepted_at = timezone.now()
    locked.save(update_fields=["accepted_at"])
    return locked


def _create_membership(invitation: Invitation, user: User) -> Membership:
    workspace = invitation.workspace
    membership, is_new = Membership.objects.get_or_create(
        workspace=workspace, user=user, defaults={"role": invitation.role}
    )
    named = Group.objects.filter(workspace=workspace, pk__in=invitation.group_ids if is_new else ())
    # Locked, so that none is deleted before this is written.
    groups = list(named.order_by("pk").select_for_update(no_key=True))
    for group in groups:
        GroupMember.objects.create(workspace=workspace, group=group, membership=membership)
    audit.record_person(
        user.email,
        "invitation.accepted",
        user.email,
        workspace=workspace,
        id=str(invitation.pk),
        role=membership.role,
        groups=sorted(group.name for group in groups),
        invited_by=invitation.invited_by,
    )
    return membership


def _create_user(invitation: Invitation, password: str, display_name: str) -> User:
    try:
        with transaction.atomic():
            return User.objects.create_user(
                invitation.email, password, display_name=display_name, proved_email=invitation.email
            )
    except IntegrityError as error:
        raise Conflict(
            f"{invitation.email} has an account here already; sign in with it.", code="account_exists"
        ) from error


def _validate_address(email: str) -> str:
    """Return the normalized address. Raises InvalidRequest if mail can't be sent to it."""
    address = normalize_email(email)
    try:
        Invitation._meta.get_field("email").clean(address, None)
        address.rpartition("@")[0].encode("ascii")
        address.rpartition("@")[2].encode("idna")  # as Django and mail servers encode it
    except (ValidationError, UnicodeError) as error:
        wrong = FieldError(field="email", message="No mail can be sent to this address.")
        raise InvalidRequest(f"No mail can be sent to {email[:254]!r}.", errors=[wrong]) from error
    return address


def _check_no_member(access: Access, address: str) -> None:
    members = Membership.objects.filter(workspace=access.workspace, user__email=address)
    role = members.values_list("role", flat=True).first()
    if role is not None:
        raise Conflict(f"{address} is a member already, as {role}.", code="already_member")


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


_UNKNOWN = "unknown-people"
_GUESSED = "You have named too many addresses that nobody here has; invite people instead."


def count_invitation(access: Access, email: str) -> None:
    """Count an invitation, whose mail holds text chosen by its sender. Raises RateLimited."""
    for of, name, message in (
        ("inviter", access.identity, "You have made too many invitations."),
        ("workspace", str(access.workspace.pk), "This workspace has made too many invitations."),
        ("address", email_fingerprint(email), "This address has been invited too often."),
    ):
        count(parse_limit(settings.KEBAB_INVITATION_LIMITS[of]), "invitations", of, name, message=message)


def check_guesses(access: Access) -> None:
    """Raise RateLimited if the caller has named too many addresses without a user."""
    check_room(parse_limit(settings.KEBAB_UNKNOWN_PEOPLE_LIMIT), _UNKNOWN, access.identity, message=_GUESSED)


def count_guess(access: Access) -> None:
    """Count an address without a user that the caller has named. Raises RateLimited."""
    count(parse_limit(settings.KEBAB_UNKNOWN_PEOPLE_LIMIT), _UNKNOWN, access.identity, message=_GUESSED)


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
    user = None if access.caller.personal_token else access.user  # a link is a way to sign in
    return not mail_is_delivered() and user is not None and user.is_superuser


def send_invitation(invitation: Invitation, link: str) -> bool:
    """Send the absolute `link` to the invited address; call it outside of a transaction.

    Returns False, and logs the reason, if no mail server accepts it; the invitation stays open.
    """
    facts = {
        "workspace": " ".join(invitation.workspace.name.split()),  # a header has no line breaks
        "invited_by": _("An operator")
        if invitation.invited_by.startswith(OPERATOR_PREFIX)
        else invitation.invited_by,
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
