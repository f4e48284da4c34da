"""The identity of the command line: an owner of every workspace, with its own actor name in the audit log."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db.models.signals import post_save

from kebab.identity.caller import Access, Caller, operator_access
from kebab.identity.models import User, Workspace
from kebab.people import audit
from kebab.tenancy.current_workspace import acting_everywhere


def command_line_caller() -> Caller:
    """Return the command line as a caller, where there is no workspace yet."""
    return Caller(operator=audit.operator_actor())


def first_operator() -> User | None:
    """Return the oldest account of an operator, None if there is none."""
    superusers = User.objects.filter(is_superuser=True, is_active=True)
    return superusers.order_by("date_joined", "pk").first()


def command_line_access(workspace: Workspace) -> Access:
    """Return the access of the command line to `workspace`."""
    return operator_access(workspace, audit.operator_actor())


@contextmanager
def recording_accounts(action: str, **detail: Any) -> Iterator[None]:
    """Record `action` by the operator once for each account saved in the block, in the save's transaction."""
    written: set[int] = set()

    def record(sender: type[User], instance: User, **_: Any) -> None:
        if instance.pk in written:
            return
        written.add(instance.pk)
        facts = {"id": str(instance.pk), "is_superuser": instance.is_superuser, **detail}
        with acting_everywhere():  # an account belongs to no workspace
            audit.record_person(audit.operator_actor(), action, instance.email, **facts)

    post_save.connect(record, sender=User)
    try:
        yield
    finally:
        post_save.disconnect(record, sender=User)
