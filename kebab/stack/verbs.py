"""What the verbs of the stack have in common."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from kebab.stack.errors import StackError


class StackVerb(BaseCommand):
    """A verb whose errors are messages for a person, with exit status 2, and which needs no database to begin."""

    requires_system_checks = ()
    requires_migrations_checks = False

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run the verb."""
        try:
            return super().execute(*args, **options)
        except StackError as error:
            raise CommandError(str(error), returncode=2) from error

    def tell(self, message: str) -> None:
        """Say something to the person at the terminal, on stderr: stdout is for results."""
        self.stderr.write(message, style_func=str)
        self.stderr.flush()
