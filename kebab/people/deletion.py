"""Deletion of a workspace with everything in it, in one transaction.

The extensions of `search` and `ingest` name hooks, because the foreign keys of tenant rows don't cascade and
files are not rows. A hook deletes rows at once and leaves files, and work that would make others wait, to
`run_on_commit`.
"""

from collections.abc import Callable

from django.db import connection, transaction

from kebab.contributions import contributions
from kebab.identity.caller import Access
from kebab.identity.models import Workspace
from kebab.people import audit

#: Called inside the transaction, before the workspace's row is deleted.
DeletionHook = Callable[[Workspace], None]


def delete_workspace(access: Access) -> None:
    """Delete a workspace and everything in it. Writers wait for its row lock and then find it gone.

    The time grows with the number of rows: some seconds for a million chunks at best, minutes if they have
    to be read from disk. There is no statement timeout.
    """
    with transaction.atomic():
        _lift_statement_timeout()
        locked = Workspace.objects.select_for_update().filter(pk=access.workspace.pk).first()
        if locked is None:
            return
        audit.record(access, "workspace.deleted", f"{locked.slug} {locked.pk}")
        for hook in reversed(contributions("deletion_hooks")):  # rows of ingest refer to those of search
            hook(locked)
        locked.delete()


def _lift_statement_timeout() -> None:
    # One statement deletes all rows: if it timed out once, it would each time.
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
