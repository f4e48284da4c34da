"""Makes and changes workspaces, for every door. Callers have checked the rights; deletion.py deletes."""

import uuid
from collections.abc import Callable
from typing import Any

from django.db import IntegrityError, transaction

from kebab.http.api.errors import Conflict, InvalidRequest, NotFound
from kebab.people import audit
from kebab.people.access.caller import Access, Caller
from kebab.people.models import Membership, Role, User, Workspace
from kebab.people.models.workspace import SLUG
from kebab.people.workspace_settings.hooks import differing, examine, follow, proposed_workspace
from kebab.people.workspace_settings.registry import merged

MAX_NAME_CHARS = 200


def check_slug(slug: str) -> str:
    """Return `slug` if a workspace may have it. Raises InvalidRequest.

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
    """Return a new workspace, owned by `owner` if given. Raises InvalidRequest, Conflict for a taken slug."""
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
    force: bool = False,
    advance: Callable[[], None] | None = None,
) -> Workspace:
    """Return the workspace with what is not None changed; `settings` are merged into the stored ones.

    Guards of settings look at them first (`setting_guards`, which says what `advance` is); `force` has them
    let pass what they would refuse. Raises InvalidRequest, Conflict for a taken slug, NotFound when it is
    gone, and what a guard refuses it with.
    """
    examined = None
    if settings:
        present = Workspace.objects.filter(pk=access.workspace.pk).first()
        if present is None:
            raise NotFound
        examined = examine(access, present, settings, is_forced=force, advance=advance)
    with transaction.atomic():
        fresh = _locked(access.workspace)
        if examined is not None and fresh.settings != examined.seen:
            raise Conflict("Somebody else changed the settings meanwhile; look at them, and try again.")
        before, settings_before = _values(fresh), proposed_workspace(fresh, {})
        fresh.slug = fresh.slug if slug is None else check_slug(slug)
        fresh.name = fresh.name if name is None else name
        fresh.settings = merged(fresh.settings, settings or {})
        changes = _changes(before, _values(fresh))
        if changes:
            _save(fresh, update_fields=["slug", "name", "settings"])
            found = {} if examined is None else examined.facts
            facts = {"id": str(fresh.pk), "values": changes, **found}
            audit.record(access, "workspace.changed", before["slug"], **facts)
            follow(access, fresh, differing(settings_before, fresh))
    return fresh


def store_settings(workspace: Workspace, settings: dict[str, Any]) -> Workspace:
    """Return the workspace with `settings` merged into the stored ones, as part of an act written elsewhere.

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
    """Return what differs, as the audit log has it; a setting that isn't stored is None."""
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
