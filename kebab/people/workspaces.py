"""Makes and changes workspaces, for every door. Callers have checked the rights; deletion.py deletes."""

import uuid
from typing import Any

from django.db import IntegrityError, transaction

from kebab.api.errors import Conflict, InvalidRequest, NotFound
from kebab.people import audit
from kebab.people.access import Access, Caller
from kebab.people.models import Membership, Role, User, Workspace
from kebab.people.models.workspace import SLUG
from kebab.people.preferences import merged

MAX_NAME_CHARS = 200


def check_slug(slug: str) -> str:
    """Give `slug` if a workspace may have it. Raises InvalidRequest.

    A slug that reads as a UUID is refused: it would stand in for the workspace that has that id.
    """
    if not SLUG.regex.match(slug):
        raise InvalidRequest(f"{slug[:100]!r} can't be a slug. {SLUG.message}", code="invalid_slug")
    try:
        uuid.UUID(slug)
    except ValueError:
        return slug
    raise InvalidRequest(f"{slug!r} reads as a UUID; choose a slug that doesn't.", code="invalid_slug")


def create_workspace(
    caller: Caller,
    slug: str,
    *,
    name: str = "",
    owner: User | None = None,
    settings: dict[str, Any] | None = None,
) -> Workspace:
    """Give a new workspace, owned by `owner` if given. Raises InvalidRequest, Conflict for a taken slug."""
    workspace = Workspace(slug=check_slug(slug), name=name or slug, settings=merged({}, settings or {}))
    with transaction.atomic():
        _save(workspace)
        if owner is not None:
            Membership.objects.create(workspace=workspace, user=owner, role=Role.OWNER)
        facts = {"id": str(workspace.pk), "owner": None if owner is None else owner.email}
        audit.record_person(caller.actor, "workspace.created", slug, workspace=workspace, **facts)
    return workspace


def change_workspace(
    access: Access,
    *,
    slug: str | None = None,
    name: str | None = None,
    settings: dict[str, Any] | None = None,
) -> Workspace:
    """Give the workspace with what is not None changed; `settings` are merged into the stored ones.

    Raises InvalidRequest, Conflict for a taken slug, NotFound when it is gone.
    """
    with transaction.atomic():
        fresh = _locked(access.workspace)
        before = _values(fresh)
        fresh.slug = fresh.slug if slug is None else check_slug(slug)
        fresh.name = fresh.name if name is None else name
        fresh.settings = merged(fresh.settings, settings or {})
        changes = _changes(before, _values(fresh))
        if changes:
            _save(fresh, update_fields=["slug", "name", "settings"])
            facts = {"id": str(fresh.pk), "values": changes}
            audit.record(access, "workspace.changed", before["slug"], **facts)
    return fresh


def store_settings(workspace: Workspace, settings: dict[str, Any]) -> Workspace:
    """Give the workspace with `settings` merged into the stored ones, as part of an act written elsewhere.

    Raises NotFound when it is gone.
    """
    with transaction.atomic():
        fresh = _locked(workspace)
        fresh.settings = merged(fresh.settings, settings)
        fresh.save(update_fields=["settings"])
    return fresh


def _locked(workspace: Workspace) -> Workspace:
    fresh = Workspace.objects.select_for_update().filter(pk=workspace.pk).first()
    if fresh is None:
        raise NotFound
    return fresh


def _values(workspace: Workspace) -> dict[str, Any]:
    settings = {f"settings.{name}": value for name, value in workspace.settings.items()}
    return {"slug": workspace.slug, "name": workspace.name, **settings}


def _changes(before: dict[str, Any], after: dict[str, Any]) -> list[dict[str, Any]]:
    """Give what differs, as the audit log has it; a setting that isn't stored is None."""
    return [
        {"field": name, "before": before.get(name), "after": after.get(name)}
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]


def _save(workspace: Workspace, **options: Any) -> None:
    try:
        with transaction.atomic():
            workspace.save(**options)
    except IntegrityError as error:
        raise Conflict(
            f"The slug {workspace.slug!r} is taken; choose another one.", code="slug_taken"
        ) from error
