"""Invitations: a link, good once and for a week, that makes whoever has the invited address a member.

The link holds 256 random bits; only their SHA-256 is kept. Only the invited address and operators get it, so
that whoever makes an account by it has shown the address to be theirs. An invitation can be accepted while
whoever made it may still give its role: one that a removed admin left behind opens nothing. To a visitor
every invitation that can't be accepted looks like one that never was.
"""

import hashlib
import re
import secrets
import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from kebab.http.api.errors import Conflict, FieldError, Forbidden, InvalidRequest, NotFound
from kebab.people import audit
from kebab.people.access.caller import Access
from kebab.people.groups import groups_of
from kebab.people.members import check_grant
from kebab.people.models import Group, GroupMember, Invitation, Membership, Role, User
from kebab.people.models.user import normal_address
from kebab.tenancy.current_workspace import acting_everywhere, acting_in

LIFETIME = timedelta(days=7)
_SECRET = re.compile(r"\A[A-Za-z0-9_-]{43}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Invited:
    """A new invitation and its secret, which can't be had again."""

    invitation: Invitation
    secret: str

    @property
    def path(self) -> str:
        """Return where it is accepted, below the site's root."""
        return f"/invitations/{self.secret}"


def invite(access: Access, email: str, role: Role, groups: Collection[uuid.UUID] = ()) -> Invited:
    """Invite whoever has this address; an earlier invitation to it is withdrawn.

    Raises InvalidRequest for what mail can't be sent to, Forbidden for a role above the caller's, given or
    withdrawn, Unprocessable for groups that aren't there, Conflict for a member.
    """
    check_grant(access, role)
    address, secret = _sendable(email), secrets.token_urlsafe(32)
    with transaction.atomic():
        _check_no_member(access, address)
        for earlier in access.workspace.invitations.open().filter(email=address):
            withdraw_invitation(access, earlier.pk)
        named = groups_of(access.workspace, groups)  # after the invitation, as who accepts it does
        invitation = Invitation.objects.create(
            workspace=access.workspace,
            email=address,
            role=role,
            group_ids=[group.pk for group in named],
            secret_sha256=_digest(secret),
            invited_by=access.actor,
            expires_at=timezone.now() + LIFETIME,
        )
        invitation.is_backed = True  # type: ignore[attr-defined]
        names = sorted(group.name for group in named)
        audit.record(access, "invitation.made", address, id=str(invitation.pk), role=role, groups=names)
    return Invited(invitation=invitation, secret=secret)


def withdraw_invitation(access: Access, invitation_id: uuid.UUID) -> None:
    """Make an invitation's link useless, at once and for good; one that is past stays as it is.

    Raises NotFound, Forbidden for one to a role above the caller's.
    """
    with transaction.atomic():
        invitation = access.workspace.invitations.select_for_update().filter(pk=invitation_id).first()
        if invitation is None:
            raise NotFound
        check_grant(access, Role(invitation.role))
        if invitation.accepted_at is not None or invitation.withdrawn_at is not None:
            return
        invitation.withdrawn_at = timezone.now()
        invitation.save(update_fields=["withdrawn_at"])
        audit.record(access, "invitation.withdrawn", invitation.email, id=str(invitation.pk))


def find_invitation(secret: str) -> Invitation | None:
    """Return the open invitation that `secret` is the secret of, its workspace loaded; else None.

    One query by a unique index, none for what has not the form of a secret. Anybody may ask.
    """
    if not _SECRET.match(secret):
        return None
    with acting_everywhere():  # whose it is shows only once it is found
        matching = Invitation.objects.open().select_related("workspace")
        return matching.filter(secret_sha256=_digest(secret)).first()


def is_invited(email: str) -> bool:
    """Return whether an open invitation to this address exists, in whichever workspace."""
    with acting_everywhere():
        return Invitation.objects.open().filter(email=email).exists()


def needs_account(invitation: Invitation) -> bool:
    """Return whether nobody signs in with the invited address yet, so that accepting makes an account."""
    return not User.objects.filter(email=invitation.email).exists()


def accept_invitation(invitation: Invitation, user: User) -> Membership:
    """Make `user`, who has signed in, a member; one who is a member already keeps role and groups.

    Who holds the link has shown the address to be theirs. Raises NotFound when the invitation isn't open any
    more, Forbidden for one to another address.
    """
    if user.email != invitation.email:
        raise Forbidden(
            f"This invitation is for {invitation.email}; you are signed in as {user.email}.",
            code="invited_is_another",
        )
    with acting_in(invitation.workspace_id), transaction.atomic():
        membership = _accepted(_claimed(invitation), user)
        if not user.has_proved_email:
            user.prove_email()
        return membership


def accept_as_new_user(invitation: Invitation, *, password: str, display_name: str = "") -> Membership:
    """Make an account for the invited address, and a member of it; the caller has checked the password.

    Raises NotFound when the invitation isn't open any more, Conflict when the address has an account: its
    owner signs in instead.
    """
    with acting_in(invitation.workspace_id), transaction.atomic():
        claimed = _claimed(invitation)
        user = _new_user(claimed, password, display_name)
        with acting_everywhere():  # an account belongs to no workspace
            audit.record_person(user.email, "account.created", user.email, by="invitation")
        return _accepted(claimed, user)


def _claimed(invitation: Invitation) -> Invitation:
    """Return the invitation locked and, from here on, accepted. Raises NotFound if somebody was faster."""
    rows = Invitation.objects.filter(workspace=invitation.workspace_id, pk=invitation.pk)
    locked = rows.select_for_update(of=("self",)).open().select_related("workspace").first()
    if locked is None:
        raise NotFound
    locked.accepted_at = timezone.now()
    locked.save(update_fields=["accepted_at"])
    return locked


def _accepted(invitation: Invitation, user: User) -> Membership:
    workspace = invitation.workspace
    membership, is_new = Membership.objects.get_or_create(
        workspace=workspace, user=user, defaults={"role": invitation.role}
    )
    named = Group.objects.filter(workspace=workspace, pk__in=invitation.group_ids if is_new else ())
    groups = list(named.order_by("pk").select_for_update(no_key=True))  # none goes before this is written
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


def _new_user(invitation: Invitation, password: str, display_name: str) -> User:
    try:
        with transaction.atomic():
            return User.objects.create_user(
                invitation.email, password, display_name=display_name, proved_email=invitation.email
            )
    except IntegrityError as error:
        raise Conflict(
            f"{invitation.email} has an account here already; sign in with it.", code="account_exists"
        ) from error


def _sendable(email: str) -> str:
    """Return the address as it is kept. Raises InvalidRequest."""
    address = normal_address(email)
    try:
        Invitation._meta.get_field("email").clean(address, None)
        address.rpartition("@")[0].encode("ascii")
        address.rpartition("@")[2].encode("idna")  # as Django's mails and mail servers have it
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
