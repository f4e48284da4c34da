"""`kebab changepassword EMAIL`: Django's command, with an audit event."""

from typing import Any

from django.contrib.auth.management.commands import changepassword

from kebab.people.operator import recording_accounts


class Command(changepassword.Command):
    """Sets a user's password."""

    def handle(self, *args: Any, **options: Any) -> str:
        """Set the password, and record it in the same transaction."""
        with recording_accounts("password.changed", by="operator"):
            return str(super().handle(*args, **options))
