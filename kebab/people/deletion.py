"""Deletes a workspace with all that hangs on it, in one transaction.

`search` and `ingest` register hooks here, because the foreign keys of tenant rows don't cascade and files
are not rows. A hook deletes rows at once and leaves files, and what others would wait for, to
`once_committed`.
"""

from collections.abc import Callable

from django.db import connection, transaction

from kebab.people import audit
from kebab.people.access.caller import Access
from kebab.people.models import Workspace

_hooks: list[Callable[[Workspace], None]] = []


def register(hook: Callable[[Workspace], None]) -> None:
    """Have `hook(workspace)` called, inside the transaction, before a workspace's row goes."""
    if hook not in _hooks:
        _hooks.append(hook)


def delete_workspace(access: Access) -> None:
    """Delete a workspace and everything in it. Writers wait for its row lock and then find it gone.

    It takes as long as it needs, which goes with the number of rows: some seconds for a million chunks at
    best, minutes where they have to be read from a disk.
    """
    with transaction.atomic():
        _lift_the_limit()
        locked = Workspace.objects.select_for_update().filter(pk=access.workspace.pk).first()
        if locked is None:
            return
        audit.record(access, "workspace.deleted", f"{locked.slug} {locked.pk}")
        for hook in reversed(_hooks):  # ingest registers last and points at what search owns
            hook(locked)
        locked.delete()


def _lift_the_limit() -> None:
    # One statement deletes all rows, and what the limit cancelled it would cancel again each time.
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
