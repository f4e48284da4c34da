"""Listings of `kebab list`: workspaces, tokens, members, groups, invitations, audit events."""

from collections.abc import Iterable
from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Count, F, Q

from kebab.cli.listings import Listing
from kebab.people.audit import events_of
from kebab.people.groups import group_sizes
from kebab.people.models import ApiToken, Invitation, Membership, Workspace

TOKEN_COLUMNS = ("id", "prefix", "name", "scopes", "groups", "expires_at", "revoked_at", "last_used_at")
MEMBER_COLUMNS = ("email", "name", "role", "groups", "active", "since")
GROUP_COLUMNS = ("name", "members", "tokens", "sources", "id")
INVITATION_COLUMNS = ("email", "role", "state", "invited_by", "expires_at", "id")
AUDIT_COLUMNS = ("at", "actor", "action", "subject", "address", "detail")

_GROUP_NAMES = ArrayAgg(
    "groups__group__name", filter=Q(groups__isnull=False), order_by="groups__group__name", default=[]
)


def workspace_rows(limit: int) -> Iterable[dict[str, Any]]:
    """Return all workspaces by slug."""
    counted = Workspace.objects.annotate(members=Count("memberships"), seq=F("head_seq")).order_by("slug")
    return counted.values("slug", "name", "id", "members", "seq", "created_at")[:limit]


def token_rows(workspace: Workspace, limit: int) -> Iterable[dict[str, Any]]:
    """Yield a workspace's tokens, newest first, without their secrets, with the names of their groups."""
    tokens = ApiToken.objects.filter(workspace=workspace).annotate(group_names=_GROUP_NAMES)
    fields = (*(name for name in TOKEN_COLUMNS if name != "groups"), "created_at", "group_names")
    for row in tokens.order_by("-created_at", "id").values(*fields)[:limit]:
        yield {**row, "groups": row.pop("group_names")}


def member_rows(workspace: Workspace, limit: int) -> Iterable[dict[str, Any]]:
    """Yield a workspace's members, oldest membership first, with the names of their groups."""
    members = Membership.objects.filter(workspace=workspace).annotate(group_names=_GROUP_NAMES)
    for row in members.select_related("user").order_by("pk")[:limit]:
        yield {
            "user_id": row.user_id,
            "email": row.user.email,
            "name": row.user.display_name,
            "role": row.role,
            "groups": row.group_names,
            "active": row.user.is_active,
            "since": row.created_at,
        }


def group_rows(workspace: Workspace, limit: int) -> Iterable[dict[str, Any]]:
    """Yield a workspace's groups by name, with their numbers of members, tokens and sources."""
    for size in group_sizes(workspace, list(workspace.groups.order_by("name")[:limit])):
        yield {
            "id": size.group.pk,
            "name": size.group.name,
            "members": size.member_count,
            "tokens": size.token_count,
            "sources": size.source_count,
            "created_at": size.group.created_at,
        }


def invitation_rows(workspace: Workspace, limit: int) -> Iterable[dict[str, Any]]:
    """Yield the invitations to a workspace, newest first, past ones too."""
    invitations = Invitation.objects.filter(workspace=workspace).with_is_backed()
    for row in invitations.order_by("-created_at", "id")[:limit]:
        yield {name: getattr(row, name) for name in (*INVITATION_COLUMNS, "created_at", "group_ids")}


def audit_rows(workspace: Workspace, limit: int) -> Iterable[dict[str, Any]]:
    """Yield a workspace's audit events, newest first."""
    for row in events_of(workspace).order_by("-at", "id")[:limit]:
        yield {name: getattr(row, name) for name in ("id", *AUDIT_COLUMNS)}


LISTINGS = (
    Listing(
        kind="workspaces",
        columns=("slug", "name", "members", "seq", "id"),
        all_rows=workspace_rows,
        is_scoped=False,
    ),
    Listing(kind="tokens", columns=TOKEN_COLUMNS, rows=token_rows),
    Listing(kind="members", columns=MEMBER_COLUMNS, rows=member_rows),
    Listing(kind="groups", columns=GROUP_COLUMNS, rows=group_rows),
    Listing(kind="invitations", columns=INVITATION_COLUMNS, rows=invitation_rows),
    Listing(kind="audit", columns=AUDIT_COLUMNS, rows=audit_rows),
)
