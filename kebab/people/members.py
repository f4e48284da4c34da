"""Who belongs to a workspace, and as what: the rules that keep every workspace owned and roles honest."""

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from kebab.http.api.errors import Conflict, Forbidden, NotFound, Unprocessable
from kebab.people import audit
from kebab.people.access.caller import Access, with_groups
from kebab.people.models import Membership, Role, User, Workspace


def members_of(workspace: Workspace) -> "QuerySet[Membership]":
    """Return the memberships of a workspace, each with its person and `group_ids`."""
    return with_groups(Membership.objects.filter(workspace=workspace).select_related("user"))


def one_member(workspace: Workspace, user_id: int) -> Membership:
    """Return the membership with its person and `group_ids`. Raises NotFound."""
    membership = members_of(workspace).filter(user_id=user_id).first()
    if membership is None:
        raise NotFound
    return membership


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
    return one_member(access.workspace, user.pk)


def change_role(access: Access, user_id: int, role: Role) -> Membership:
    """Return a member another role. Raises NotFound, Forbidden, Conflict for the last owner."""
    check_grant(access, role)
    with transaction.atomic():
        membership = _locked(access, user_id)
        before = Role(membership.role)
        check_grant(access, before)
        if role != Role.OWNER:
            _check_not_last_owner(access, membership)
        membership.role = role
        membership.save(update_fields=["role"])
        audit.record(access, "member.changed", membership.user.email, role=role, before=before)
    return one_member(access.workspace, user_id)


def remove_member(access: Access, user_id: int) -> int:
    """End a membership, and its place in groups; all may end their own.

    Gives how many tokens that the person made still work: they are the workspace's, and stay.
    Raises NotFound, Forbidden, Conflict for the last owner.
    """
    leaves = access.user is not None and access.user.pk == user_id
    if not leaves:
        check_grant(access, Role.ADMIN)
    with transaction.atomic():
        membership = _locked(access, user_id)
        check_grant(access, Role(membership.role))
        _check_not_last_owner(access, membership)
        tokens_left = usable_tokens_made_by(access.workspace, membership.user)
        membership.delete()
        facts = {"role": membership.role, "tokens_left": tokens_left}
        audit.record(access, "member.removed", membership.user.email, **facts)
    return tokens_left


def check_grant(access: Access, role: Role) -> None:
    """Raises Forbidden for a role above the caller's own: nobody gives or takes one."""
    if access.role is None or access.role.level < role.level:
        raise Forbidden(f"Your role here is too low to give or take the role {role.value}.")


def usable_tokens_made_by(workspace: Workspace, user: User) -> int:
    """Return how many tokens that `user` made for the workspace still work."""
    fresh = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    return workspace.tokens.filter(fresh, created_by=user, revoked_at=None).count()


def owned_alone(user: User) -> "QuerySet[Workspace]":
    """Return the workspaces of `user` that no other active person owns."""
    others = Membership.objects.filter(
        workspace=OuterRef("pk"), role=Role.OWNER, user__is_active=True
    ).exclude(user=user)
    owned = Workspace.objects.filter(memberships__user=user, memberships__role=Role.OWNER)
    return owned.exclude(Exists(others)).order_by("slug")


def _locked(access: Access, user_id: int) -> Membership:
    """Lock the owners, so that two of them can't step down at once, and give the member."""
    members = Membership.objects.select_for_update(of=("self",)).filter(workspace=access.workspace)
    list(members.filter(role=Role.OWNER).order_by("pk"))
    membership = members.select_related("user").filter(user_id=user_id).first()
    if membership is None:
        raise NotFound
    return membership


def _check_not_last_owner(access: Access, membership: Membership) -> None:
    """Return an owner who has been deactivated owns nothing that anybody could act on, so they
    don't count.
    """
    if membership.role != Role.OWNER:
        return
    owners = Membership.objects.filter(workspace=access.workspace, role=Role.OWNER)
    if not owners.filter(user__is_active=True).exclude(pk=membership.pk).exists():
        raise Conflict(
            "This is the only owner; make somebody else an owner first, or delete the workspace.",
            code="last_owner",
        )
