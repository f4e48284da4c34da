"""As whom the command line acts: an owner of every workspace, whom the audit knows by a name of their own."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db.models.signals import post_save

from kebab.people import audit
from kebab.people.access.caller import Access, Caller, operator_access
from kebab.people.models import User, Workspace
from kebab.tenancy.current_workspace import acting_everywhere


def operating_caller() -> Caller:
    """Return whoever runs the command line on this machine, where there is no workspace yet."""
    return Caller(operator=audit.operator())


def the_operator(workspace: Workspace) -> Access:
    """Return the access, in `workspace`, of whoever runs the command line on this machine."""
    return operator_access(workspace, audit.operator())


@contextmanager
def recording_accounts(action: str, **detail: Any) -> Iterator[None]:
    """Write that the operator did `action` to each account saved within, once, in the save's transaction."""
    written: set[int] = set()

    def record(sender: type[User], instance: User, **_: Any) -> None:
        if instance.pk in written:
            return
        written.add(instance.pk)
        facts = {"id": str(instance.pk), "is_superuser": instance.is_superuser, **detail}
        with acting_everywhere():  # an account is no workspace's
            audit.record_person(audit.operator(), action, instance.email, **facts)

    post_save.connect(record, sender=User)
    try:
        yield
    finally:
        post_save.disconnect(record, sender=User)
