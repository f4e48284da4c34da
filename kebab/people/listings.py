"""What `kebab list` says of workspaces and tokens."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Count

from kebab.cli.listings import register_listing
from kebab.people.models import ApiToken, Workspace

TOKEN_COLUMNS = ("id", "prefix", "name", "scopes", "expires_at", "revoked_at", "last_used_at")


def workspace_rows(workspace: Workspace | None, limit: int) -> Iterable[dict[str, Any]]:
    """Give all workspaces by slug."""
    for row in Workspace.objects.annotate(member_count=Count("memberships")).order_by("slug")[:limit]:
        yield {
            "slug": row.slug,
            "name": row.name,
            "id": row.id,
            "members": row.member_count,
            "seq": row.head_seq,
            "created_at": row.created_at,
        }


def token_rows(workspace: Workspace | None, limit: int) -> Iterable[dict[str, Any]]:
    """Give a workspace's tokens, newest first, without their secrets."""
    fields = (*TOKEN_COLUMNS, "created_at")
    tokens = ApiToken.objects.filter(workspace=workspace).order_by("-created_at", "id")
    yield from tokens.values(*fields)[:limit]


register_listing("workspaces", ("slug", "name", "members", "seq", "id"), workspace_rows, is_scoped=False)
register_listing("tokens", TOKEN_COLUMNS, token_rows)
