"""`kebab createsuperuser`: Django's, which is in the audit log here."""

from typing import Any

from django.contrib.auth.management.commands import createsuperuser

from kebab.people.operator import recording_accounts


class Command(createsuperuser.Command):
    """Makes an operator."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Make one, and write it down with the account."""
        with recording_accounts("user.added"):
            super().handle(*args, **options)
