"""How a source keeps itself up to date: watched, or synced by a schedule."""

from collections.abc import Mapping
from typing import Any, Final

from ingest.jobs.queue.schedule import first_run
from kebab.http.api.errors import FieldError, InvalidRequest
from search.models import SourceKind

#: What may be stated of it.
UPKEEP: Final = ("watch", "sync_every_minutes")


def upkeep_fields(kind: str, stated: Mapping[str, Any], *, is_new: bool = False) -> dict[str, Any]:
    """Return the fields of a source of `kind` that follow from what is stated.

    A new source with a schedule is synced at once, another one after its first interval. Raises
    InvalidRequest for a kind that has nothing to sync, or to watch.
    """
    if stated.get("watch") and kind != SourceKind.FOLDER:
        raise _refused("watch", f"Only a folder can be watched; give a {kind} sync_every_minutes.")
    if stated.get("sync_every_minutes") is not None and kind == SourceKind.UPLOAD:
        raise _refused("sync_every_minutes", "Uploads come by themselves; there is nothing to sync.")
    fields = {name: stated[name] for name in UPKEEP if name in stated}
    if "sync_every_minutes" in fields:
        fields.update(first_run(fields["sync_every_minutes"], at_once=is_new))
    return fields


def _refused(field: str, why: str) -> InvalidRequest:
    return InvalidRequest(f"{field}: {why}", errors=[FieldError(field=field, message=why)])
