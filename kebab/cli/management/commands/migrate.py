"""Django's `migrate`, run as the owner of the tables, who then grants their use to the application."""

from typing import Any

from django.core.management.base import CommandParser
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder

from kebab.tenancy.migration_locks import LOCK_LIMIT_MS, retry_on_lock_timeout
from kebab.tenancy.roles import OWNER, grant_to_application


class Command(migrate.Command):
    """Migrates the owner's database alias unless another is named."""

    def add_arguments(self, parser: CommandParser) -> None:
        """Change the default database alias to the owner's."""
        super().add_arguments(parser)
        parser.set_defaults(database=OWNER)

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate, analyze the tables if that changed anything, and grant.

        A table that a migration has rewritten has no statistics until autovacuum runs, and a search of 42,000
        chunks reached its limit of 30 seconds before that.
        """
        before = _applied_migrations(options["database"])
        if options["database"] != OWNER:
            super().handle(*args, **options)
            return
        with connections[OWNER].cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, false)", [str(LOCK_LIMIT_MS)])
        retry_on_lock_timeout(lambda: migrate.Command.handle(self, *args, **options), self.stderr.write)
        if _applied_migrations(OWNER) != before:
            with connections[OWNER].cursor() as cursor:
                cursor.execute("SET statement_timeout = 0; ANALYZE (SKIP_LOCKED); RESET statement_timeout")
        grant_to_application()


def _applied_migrations(alias: str) -> set[tuple[str, str]]:
    return set(MigrationRecorder(connections[alias]).applied_migrations())
