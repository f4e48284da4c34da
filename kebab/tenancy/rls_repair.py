"""Repair of row-level security where it was disabled."""

from collections.abc import Iterator, Sequence
from typing import Final

from django.db.migrations.loader import MigrationLoader
from psycopg import sql

from kebab.tenancy.owner_connection import owner_connection

_POLICIES: Final = "SELECT polname FROM pg_policy WHERE polrelid = %s::regclass"


def rebuild_policies(tables: Sequence[str]) -> None:
    """Restore the policies that migrations created on `tables`, and drop others. Raises NotTheOwner."""
    expected = dict(_migration_policies())
    with owner_connection() as owner:
        for table in tables:
            with owner.transaction():
                for (name,) in owner.execute(_POLICIES, [table]).fetchall():
                    policy, on = sql.Identifier(name), sql.Identifier(table)
                    owner.execute(sql.SQL("DROP POLICY {} ON {}").format(policy, on))
                for statement in expected.get(table, ()):
                    owner.execute(statement)


def _migration_policies() -> Iterator[tuple[str, Sequence[str]]]:
    """Yield each table with the statements that created its policies, in order of migrations."""
    for _, migration in sorted(MigrationLoader(None).disk_migrations.items()):
        for operation in migration.operations:
            statements = getattr(operation, "sql", "")
            if isinstance(statements, list) and str(statements[0]).startswith("CREATE POLICY "):
                yield str(statements[0]).split(" ON ")[1].split()[0], statements
