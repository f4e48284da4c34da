"""Quotas of a workspace: the operator's limits for it, else the defaults of the settings."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from django.conf import settings
from django.db import transaction

from kebab.database.querysets import first_or_not_found
from kebab.errors import InvalidRequest
from kebab.identity.caller import Access
from kebab.identity.models import Workspace
from kebab.people import audit


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
