"""`kebab changepassword EMAIL`: Django's command, with an audit event."""

from typing import Any

from django.contrib.auth.management.commands import changepassword
from django.core.management.base import CommandParser

from kebab.cli.command import describe_options
from kebab.people.operator import recording_accounts


class Command(changepassword.Command):
    """Sets a user's password."""

    help = "Set the password of an account."

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Return the parser, which shows no options that are for programs that use Django."""
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        describe_options(parser, username="the address of the account (the user of this machine)")
        return parser

    def handle(self, *args: Any, **options: Any) -> str:
        """Set the password, and record it in the same transaction."""
        with recording_accounts("password.changed", by="operator"):
            return str(super().handle(*args, **options))
