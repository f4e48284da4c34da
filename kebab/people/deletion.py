"""Deletes a workspace with all that hangs on it, in one transaction.

`search` and `ingest` register hooks here, because the foreign keys of tenant rows don't cascade and files
are not rows. A hook deletes rows at once and leaves files to `transaction.on_commit`.
"""

from collections.abc import Callable

from django.db import transaction

from kebab.people import audit
from kebab.people.access import Access
from kebab.people.models import Workspace

_hooks: list[Callable[[Workspace], None]] = []


def register(hook: Callable[[Workspace], None]) -> None:
    """Have `hook(workspace)` called, inside the transaction, before a workspace's row goes."""
    if hook not in _hooks:
        _hooks.append(hook)


def delete_workspace(access: Access) -> None:
    """Delete a workspace and everything in it. Writers wait for its row lock and then find it gone."""
    with transaction.atomic():
        locked = Workspace.objects.select_for_update().filter(pk=access.workspace.pk).first()
        if locked is None:
            return
        audit.record(access, "workspace.deleted", f"{locked.slug} {locked.pk}")
        for hook in reversed(_hooks):  # ingest registers last and points at what search owns
            hook(locked)
        locked.delete()
