"""`kebab createsuperuser`: Django's command, with an audit event."""

from typing import Any

from django.contrib.auth.management.commands import createsuperuser
from django.core.management.base import CommandParser

from kebab.cli.command import describe_options
from kebab.people.operator import recording_accounts


class Command(createsuperuser.Command):
    """Creates an operator."""

    help = "Create an operator's account, for /admin/; it asks for address and password."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the arguments, and hide those for programs that use Django."""
        super().add_arguments(parser)
        unasked = "don't ask: --email has the address, DJANGO_SUPERUSER_PASSWORD the password"
        describe_options(parser, email="the address to log in with", interactive=unasked)

    def handle(self, *args: Any, **options: Any) -> None:
        """Create the account, and record it in the same transaction."""
        with recording_accounts("user.added"):
            super().handle(*args, **options)
