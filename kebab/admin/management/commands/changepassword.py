"""`kebab changepassword EMAIL`: Django's command, with an audit event."""

from typing import Any

from django.contrib.auth.management.commands import changepassword
from django.core.management.base import CommandParser

from kebab.cli.command import describe_options
from kebab.people.operator import recording_accounts


class Command(changepassword.Command):
    """Sets a user's password."""

    help = "Set the password of an account."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the arguments, and hide those for programs that use Django."""
        super().add_arguments(parser)
        describe_options(parser, username="the address of the account (the user of this machine)")

    def handle(self, *args: Any, **options: Any) -> str:
        """Set the password, and record it in the same transaction."""
        with recording_accounts("password.changed", by="operator"):
            return str(super().handle(*args, **options))
