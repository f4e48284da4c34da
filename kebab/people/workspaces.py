"""Creation, change and deletion of workspaces, for every interface.

Callers check the rights to a workspace, `change_workspace` those to each setting.

The extensions of `search` and `ingest` name hooks of a deletion, because the foreign keys of tenant rows do
not cascade and files are not rows. A hook deletes rows at once and leaves files, and work that would make
others wait, to `run_on_commit`.
"""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from django.conf import settings
from django.db import IntegrityError, connection, transaction

from kebab.contributions import contributions
from kebab.database.querysets import first_or_not_found
from kebab.errors import Conflict, InvalidRequest
from kebab.identity.caller import Access, Caller
from kebab.identity.models import Membership, Role, User, Workspace
from kebab.identity.models.workspace import SLUG, is_slug
from kebab.people import audit
from kebab.people.workspace_settings.hooks import (
    changed_settings,
    proposed_workspace,
    run_followers,
    run_guards,
)
from kebab.people.workspace_settings.registry import check_rights, merge_settings, summarise

MAX_NAME_CHARS = 200


def check_slug(slug: str) -> str:
    """Return `slug` if a workspace may have it. Raises InvalidRequest.

    A slug that reads as a UUID is refused: it could be confused with the workspace of that id.
    """
    if not is_slug(slug):
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
    """Create a workspace, owned by `owner` if given. Raises InvalidRequest, Conflict for a taken slug."""
    workspace = Workspace(
        slug=check_slug(slug), name=name or slug, settings=merge_settings({}, settings or {})
    )
    with transaction.atomic():
        _save(workspace)
        if owner is not None:
            Membership.objects.create(workspace=workspace, user=owner, role=Role.OWNER)
        facts = {"id": str(workspace.pk), "owner": None if owner is None else owner.email, **caller.tool}
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
    present: Workspace | None = None,
) -> Workspace:
    """Change the fields that are not None; `settings` are merged into the stored ones.

    Settings that were derived from stored ones need the workspace that was read for that, `present`.
    Guards of settings check them first (`workspace_settings/hooks.py`, which explains `advance`); with
    `force` they let pass what they would refuse. Raises InvalidRequest, Conflict for a taken slug or for
    settings that changed meanwhile, Forbidden for settings that the caller may not change, NotFound if it is
    gone, and the error of a guard that refuses the change.
    """
    check_rights(access, settings or ())
    findings = None
    if settings:
        present = present or first_or_not_found(Workspace.objects.filter(pk=access.workspace.pk))
        findings = run_guards(access, present, settings, is_forced=force, advance=advance)
    with transaction.atomic():
        fresh = _lock_workspace(access.workspace)
        if findings is not None and fresh.settings != findings.seen:
            raise Conflict("Somebody else changed the settings meanwhile; look at them, and try again.")
        before, settings_before = _values(fresh), proposed_workspace(fresh, {})
        fresh.slug = fresh.slug if slug is None else check_slug(slug)
        fresh.name = fresh.name if name is None else name
        fresh.settings = merge_settings(fresh.settings, settings or {})
        changes = _changes(before, _values(fresh))
        if changes:
            _save(fresh, update_fields=["slug", "name", "settings"])
            found = {} if findings is None else findings.facts
            facts = {"id": str(fresh.pk), "values": changes, **found}
            audit.record(access, "workspace.changed", before["slug"], **facts)
            run_followers(access, fresh, changed_settings(settings_before, fresh))
    return fresh


def store_settings(workspace: Workspace, settings: dict[str, Any]) -> Workspace:
    """Merge `settings` into the stored ones, as part of an action that is audited elsewhere.

    Returns the workspace. Raises NotFound if it is gone.
    """
    with transaction.atomic():
        fresh = _lock_workspace(workspace)
        fresh.settings = merge_settings(fresh.settings, settings)
        fresh.save(update_fields=["settings"])
    return fresh


def _lock_workspace(workspace: Workspace) -> Workspace:
    return first_or_not_found(Workspace.objects.select_for_update().filter(pk=workspace.pk))


def _values(workspace: Workspace) -> dict[str, Any]:
    settings = {f"settings.{name}": value for name, value in summarise(workspace.settings).items()}
    return {"slug": workspace.slug, "name": workspace.name, **settings}


def _changes(before: dict[str, Any], after: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the changed fields as the audit log stores them; a setting that isn't stored is None."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """The limits of one workspace; 0 means no limit."""

    #: Documents of all its sources and versions.
    documents: int
    #: Bytes of those documents.
    bytes: int
    #: Waiting and running jobs.
    jobs: int

    @property
    def limits_content(self) -> bool:
        """Return whether documents or bytes are limited."""
        return bool(self.documents or self.bytes)


NAMES = tuple(each.name for each in fields(Quota))


def quota_of(workspace: Workspace) -> Quota:
    """Return the limits in force for `workspace`."""
    return Quota(**{**settings.KEBAB_QUOTAS, **workspace.quota})


def set_quota(access: Access, changes: Mapping[str, int | None]) -> Quota:
    """Change limits of a workspace, as an operator, and return all; None restores the settings' default.

    Raises InvalidRequest, NotFound if the workspace is gone.
    """
    _check_limits(changes)
    with transaction.atomic():
        fresh = first_or_not_found(Workspace.objects.select_for_update().filter(pk=access.workspace.pk))
        before = quota_of(fresh)
        merged = {**fresh.quota, **changes}
        fresh.quota = {name: limit for name, limit in merged.items() if limit is not None}
        fresh.save(update_fields=["quota"])
        _record(access, before, quota_of(fresh))
    return quota_of(fresh)


def _check_limits(changes: Mapping[str, Any]) -> None:
    for name, limit in changes.items():
        if name not in NAMES:
            raise InvalidRequest(f"{name!r} is not a quota; there are {', '.join(NAMES)}.")
        is_limit = limit is None or (isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0)
        if not is_limit:
            raise InvalidRequest(f"{name} is {limit!r}; give a whole number, 0 for no limit.")


def _record(access: Access, before: Quota, after: Quota) -> None:
    old, new = asdict(before), asdict(after)
    changed = [
        {"field": f"quota.{name}", "before": old[name], "after": new[name]}
        for name in NAMES
        if old[name] != new[name]
    ]
    if changed:
        workspace = access.workspace
        audit.record(access, "workspace.changed", workspace.slug, id=str(workspace.pk), values=changed)


#: Called inside the transaction, before the workspace's row is deleted.
DeletionHook = Callable[[Workspace], None]


def delete_workspace(access: Access) -> None:
    """Delete a workspace and everything in it. Writers wait for its row lock and then find it gone.

    The time grows with the number of rows: some seconds for a million chunks at best, minutes if they have
    to be read from disk. There is no statement timeout.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = 0")
        locked = Workspace.objects.select_for_update().filter(pk=access.workspace.pk).first()
        if locked is None:
            return
        audit.record(access, "workspace.deleted", f"{locked.slug} {locked.pk}")
        for hook in reversed(contributions("deletion_hooks")):  # rows of ingest refer to those of search
            hook(locked)
        locked.delete()
