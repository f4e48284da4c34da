"""`kebab createsuperuser`: Django's command, with an audit event."""

from typing import Any

from django.contrib.auth.management.commands import createsuperuser

from kebab.people.operator import recording_accounts


class Command(createsuperuser.Command):
    """Creates an operator."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Create the account, and record it in the same transaction."""
        with recording_accounts("user.added"):
            super().handle(*args, **options)
