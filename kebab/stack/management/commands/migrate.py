"""Django's `migrate`, done by the owner of the tables, who then grants their use to the application."""

from typing import Any

from django.core.management.base import CommandParser
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder

from kebab.tenancy.migration_locks import LOCK_LIMIT_MS, tried_again
from kebab.tenancy.roles import OWNER, grant_to_application


class Command(migrate.Command):
    """Migrates the owner's alias unless another is named."""

    def add_arguments(self, parser: CommandParser) -> None:
        """Change one default."""
        super().add_arguments(parser)
        parser.set_defaults(database=OWNER)

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate, look at the tables anew if that changed anything, and grant.

        A table that a migration has written anew has no statistics until autovacuum comes by, and a search
        of 42,000 chunks ran into its 30 seconds meanwhile.
        """
        before = _applied(options["database"])
        if options["database"] != OWNER:
            super().handle(*args, **options)
            return
        _wait_for_no_lock()
        tried_again(lambda: migrate.Command.handle(self, *args, **options), self.stderr.write)
        if _applied(OWNER) != before:
            with connections[OWNER].cursor() as cursor:
                cursor.execute("SET statement_timeout = 0; ANALYZE (SKIP_LOCKED); RESET statement_timeout")
        grant_to_application()


def _wait_for_no_lock() -> None:
    """Have no search wait behind a migration that waits for a long statement."""
    with connections[OWNER].cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, false)", [str(LOCK_LIMIT_MS)])


def _applied(alias: str) -> set[tuple[str, str]]:
    return set(MigrationRecorder(connections[alias]).applied_migrations())
