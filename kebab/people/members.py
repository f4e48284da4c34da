"""Memberships and roles: nobody grants a role above their own, and every workspace keeps an owner."""

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from kebab.database.querysets import first_or_not_found
from kebab.errors import Conflict, Forbidden, Unprocessable
from kebab.identity.caller import Access, with_group_ids
from kebab.identity.models import Membership, Role, User, Workspace
from kebab.people import audit

# How many workspaces without an owner are named.
_NAMED = 5


def members_of(workspace: Workspace) -> "QuerySet[Membership]":
    """Return the memberships of a workspace, each with its user and `group_ids`."""
    return with_group_ids(Membership.objects.filter(workspace=workspace).select_related("user"))


def get_member(workspace: Workspace, user_id: int) -> Membership:
    """Return the membership with its user and `group_ids`. Raises NotFound."""
    return first_or_not_found(members_of(workspace).filter(user_id=user_id))


def add_member(access: Access, email: str, role: Role) -> Membership:
    """Make the user with this address a member.

    Raises Forbidden for a role above the caller's, Unprocessable for an unknown address,
    Conflict for one who is a member.
    """
    check_grant(access, role)
    user = User.objects.with_address(email).filter(is_active=True).first()
    if user is None:
        raise Unprocessable(
            f"Nobody here has the address {email!r}; invite them, or have an operator create the user first.",
            code="user_unknown",
        )
    with transaction.atomic():
        membership, is_new = Membership.objects.get_or_create(
            workspace=access.workspace, user=user, defaults={"role": role}
        )
        if not is_new:
            raise Conflict(f"{user.email} is a member already, as {membership.role}.", code="already_member")
        audit.record(access, "member.added", user.email, role=role)
    return get_member(access.workspace, user.pk)


def change_role(access: Access, user_id: int, role: Role) -> Membership:
    """Change a member's role. Raises NotFound, Forbidden, Conflict for the last owner."""
    check_grant(access, role)
    with transaction.atomic():
        membership = _lock_member(access, user_id)
        before = Role(membership.role)
        check_grant(access, before)
        if role != Role.OWNER:
            _check_not_last_owner(access, membership)
        membership.role = role
        membership.save(update_fields=["role"])
        audit.record(access, "member.changed", membership.user.email, role=role, before=before)
    return get_member(access.workspace, user_id)


def remove_member(access: Access, user_id: int) -> int:
    """End a membership, also in groups; everybody may end their own.

    Returns how many tokens created by this person still work: they belong to the workspace and stay.
    Raises NotFound, Forbidden, Conflict for the last owner.
    """
    leaves = access.user is not None and access.user.pk == user_id
    if not leaves:
        check_grant(access, Role.ADMIN)
    with transaction.atomic():
        membership = _lock_member(access, user_id)
        check_grant(access, Role(membership.role))
        _check_not_last_owner(access, membership)
        tokens_left = count_usable_tokens(access.workspace, membership.user)
        membership.delete()
        facts = {"role": membership.role, "tokens_left": tokens_left}
        audit.record(access, "member.removed", membership.user.email, **facts)
    return tokens_left


def check_grant(access: Access, role: Role) -> None:
    """Raise Forbidden for a role above the caller's own, which nobody may grant or revoke."""
    if access.role is None or access.role.level < role.level:
        raise Forbidden(f"Your role here is too low to give or take the role {role.value}.")


def count_usable_tokens(workspace: Workspace, user: User) -> int:
    """Count the usable tokens that `user` created for the workspace."""
    fresh = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    return workspace.tokens.filter(fresh, created_by=user, revoked_at=None).count()


def solely_owned_workspaces(user: User) -> "QuerySet[Workspace]":
    """Return the workspaces of `user` that no other active person owns."""
    others = Membership.objects.filter(
        workspace=OuterRef("pk"), role=Role.OWNER, user__is_active=True
    ).exclude(user=user)
    owned = Workspace.objects.filter(memberships__user=user, memberships__role=Role.OWNER)
    return owned.exclude(Exists(others)).order_by("slug")


def _lock_member(access: Access, user_id: int) -> Membership:
    """Lock the owners, so that two can't step down concurrently, and return the member."""
    members = Membership.objects.select_for_update(of=("self",)).filter(workspace=access.workspace)
    list(members.filter(role=Role.OWNER).order_by("pk"))
    return first_or_not_found(members.select_related("user").filter(user_id=user_id))


def _check_not_last_owner(access: Access, membership: Membership) -> None:
    """Raise Conflict if the workspace has no other active owner; deactivated ones can't act."""
    if membership.role != Role.OWNER:
        return
    owners = Membership.objects.filter(workspace=access.workspace, role=Role.OWNER)
    if not owners.filter(user__is_active=True).exclude(pk=membership.pk).exists():
        raise Conflict(
            "This is the only owner; make somebody else an owner first, or delete the workspace.",
            code="last_owner",
        )


def remark_on_owners() -> str:
    """Return which workspaces nobody owns, and the remedy; '' if each has an owner."""
    owned = Membership.objects.filter(role=Role.OWNER).values("workspace")
    slugs = list(Workspace.objects.exclude(pk__in=owned).values_list("slug", flat=True)[:_NAMED])
    if not slugs:
        return ""
    body = '{"email": "EMAIL", "role": "owner"}'
    add = f"kebab api POST /workspaces/{slugs[0]}/members --data '{body}'"
    return f"Nobody owns: {', '.join(slugs)}. Add an owner: {add}"
