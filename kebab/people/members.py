"""Who belongs to a workspace, and as what: the rules that keep every workspace owned and roles honest."""

from django.db import transaction

from kebab.api.errors import Conflict, Forbidden, NotFound, Unprocessable
from kebab.people import audit
from kebab.people.access import Access
from kebab.people.models import Membership, Role, User


def add_member(access: Access, email: str, role: Role) -> Membership:
    """Make the user with this address a member.

    Raises Forbidden for a role above the caller's, Unprocessable for an unknown address,
    Conflict for one who is a member.
    """
    _check_grant(access, role)
    user = User.objects.filter(email=email.strip().lower(), is_active=True).first()
    if user is None:
        raise Unprocessable(
            f"Nobody here has the address {email!r}; an operator has to create that user first.",
            code="user_unknown",
        )
    with transaction.atomic():
        membership, is_new = Membership.objects.get_or_create(
            workspace=access.workspace, user=user, defaults={"role": role}
        )
        if not is_new:
            raise Conflict(f"{user.email} is a member already, as {membership.role}.", code="already_member")
        audit.record(access, "member.added", user.email, role=role)
    return membership


def change_role(access: Access, user_id: int, role: Role) -> Membership:
    """Give a member another role. Raises NotFound, Forbidden, Conflict for the last owner."""
    _check_grant(access, role)
    with transaction.atomic():
        membership = _locked(access, user_id)
        before = Role(membership.role)
        _check_grant(access, before)
        if role != Role.OWNER:
            _check_not_last_owner(access, membership)
        membership.role = role
        membership.save(update_fields=["role"])
        audit.record(access, "member.changed", membership.user.email, role=role, before=before)
    return membership


def remove_member(access: Access, user_id: int) -> None:
    """End a membership; all may end their own. Raises NotFound, Forbidden, Conflict for the last owner."""
    leaves = access.user is not None and access.user.pk == user_id
    if not leaves:
        _check_grant(access, Role.ADMIN)
    with transaction.atomic():
        membership = _locked(access, user_id)
        _check_grant(access, Role(membership.role))
        _check_not_last_owner(access, membership)
        membership.delete()
        audit.record(access, "member.removed", membership.user.email, role=membership.role)


def _check_grant(access: Access, role: Role) -> None:
    """Nobody gives or takes a role above their own."""
    if access.role is None or access.role.level < role.level:
        raise Forbidden(f"Your role here is too low to give or take the role {role.value}.")


def _locked(access: Access, user_id: int) -> Membership:
    """Lock the owners, so that two of them can't step down at once, and give the member."""
    members = Membership.objects.select_for_update(of=("self",)).filter(workspace=access.workspace)
    list(members.filter(role=Role.OWNER).order_by("pk"))
    membership = members.select_related("user").filter(user_id=user_id).first()
    if membership is None:
        raise NotFound
    return membership


def _check_not_last_owner(access: Access, membership: Membership) -> None:
    if membership.role != Role.OWNER:
        return
    others = Membership.objects.filter(workspace=access.workspace, role=Role.OWNER).exclude(pk=membership.pk)
    if not others.exists():
        raise Conflict(
            "This is the only owner; make somebody else an owner first, or delete the workspace.",
            code="last_owner",
        )
