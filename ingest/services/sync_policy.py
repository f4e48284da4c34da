"""The sync policy of a source: watched, or synced by a schedule."""

from collections.abc import Mapping
from typing import Any, Final

from ingest.jobs.queue.schedule import initial_schedule
from kebab.http.api.errors import FieldError, InvalidRequest
from search.models import SourceKind

#: The fields that state it.
SYNC_POLICY_FIELDS: Final = ("watch", "sync_every_minutes")


def sync_policy_fields(kind: str, stated: Mapping[str, Any], *, is_new: bool = False) -> dict[str, Any]:
    """Return the model fields of the sync policy that is `stated` for a source of `kind`.

    A new source with a schedule is synced at once, an existing one after its first interval. Raises
    InvalidRequest for a kind that can't be synced, or watched.
    """
    if stated.get("watch") and kind != SourceKind.FOLDER:
        raise _invalid_field("watch", f"Only a folder can be watched; give a {kind} sync_every_minutes.")
    if stated.get("sync_every_minutes") is not None and kind == SourceKind.UPLOAD:
        raise _invalid_field("sync_every_minutes", "Uploads come by themselves; there is nothing to sync.")
    fields = {name: stated[name] for name in SYNC_POLICY_FIELDS if name in stated}
    if "sync_every_minutes" in fields:
        fields.update(initial_schedule(fields["sync_every_minutes"], at_once=is_new))
    return fields


def _invalid_field(field: str, message: str) -> InvalidRequest:
    return InvalidRequest(f"{field}: {message}", errors=[FieldError(field=field, message=message)])
