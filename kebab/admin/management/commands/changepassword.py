"""`kebab changepassword EMAIL`: Django's, which is in the audit log here."""

from typing import Any

from django.contrib.auth.management.commands import changepassword

from kebab.people.operator import recording_accounts


class Command(changepassword.Command):
    """Sets somebody's password."""

    def handle(self, *args: Any, **options: Any) -> str:
        """Set it, and write it down with the password."""
        with recording_accounts("password.changed", by="operator"):
            return str(super().handle(*args, **options))
