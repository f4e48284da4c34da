"""Making row-level security again where somebody has switched it off."""

from collections.abc import Iterator, Sequence
from typing import Final

from django.db.migrations.loader import MigrationLoader
from psycopg import sql

from kebab.tenancy.owner_connection import owner_connection

_POLICIES: Final = "SELECT polname FROM pg_policy WHERE polrelid = %s::regclass"


def rebuild_walls(tables: Sequence[str]) -> None:
    """Return tables the policies that migrations made, and no others. Raises NotTheOwner."""
    made = dict(_walls())
    with owner_connection() as owner:
        for table in tables:
            with owner.transaction():
                for (name,) in owner.execute(_POLICIES, [table]).fetchall():
                    policy, on = sql.Identifier(name), sql.Identifier(table)
                    owner.execute(sql.SQL("DROP POLICY {} ON {}").format(policy, on))
                for statement in made.get(table, ()):
                    owner.execute(statement)


def _walls() -> Iterator[tuple[str, Sequence[str]]]:
    """Return each table with the statements that made its policies, later ones later."""
    for _, migration in sorted(MigrationLoader(None).disk_migrations.items()):
        for operation in migration.operations:
            said = getattr(operation, "sql", "")
            if isinstance(said, list) and str(said[0]).startswith("CREATE POLICY "):
                yield str(said[0]).split(" ON ")[1].split()[0], said
