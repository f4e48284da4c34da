"""Migration operations for tenancy: primary keys and references that include the workspace."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import migrations


@dataclass(frozen=True, slots=True)
class Reference:
    """A foreign key from a tenant table; both column lists begin with the workspace."""

    table: str
    columns: Sequence[str]
    target: str
    target_columns: Sequence[str] = ("workspace_id", "id")
    on_delete: str = "CASCADE"

    @property
    def name(self) -> str:
        return f"{self.table}_{self.columns[-1]}_fk"


def composite_primary_key(table: str) -> migrations.RunSQL:
    """Make (workspace_id, id) the primary key of `table`."""
    return migrations.RunSQL(
        f"ALTER TABLE {table} DROP CONSTRAINT {table}_pkey, ADD PRIMARY KEY (workspace_id, id)",
        f"ALTER TABLE {table} DROP CONSTRAINT {table}_pkey, ADD PRIMARY KEY (id)",
    )


def unique_in_workspace(table: str) -> migrations.RunSQL:
    """Make (workspace_id, id) of `table` unique, so that references can target it."""
    return migrations.RunSQL(
        f"ALTER TABLE {table} ADD CONSTRAINT {table}_in_workspace UNIQUE (workspace_id, id)",
        f"ALTER TABLE {table} DROP CONSTRAINT {table}_in_workspace",
    )


def foreign_key(reference: Reference) -> migrations.RunSQL:
    """Add `reference` as a constraint, checked at once, with its `on_delete` action."""
    columns, targets = ", ".join(reference.columns), ", ".join(reference.target_columns)
    return migrations.RunSQL(
        f"ALTER TABLE {reference.table} ADD CONSTRAINT {reference.name} FOREIGN KEY ({columns})"
        f" REFERENCES {reference.target} ({targets}) ON DELETE {reference.on_delete}",
        f"ALTER TABLE {reference.table} DROP CONSTRAINT {reference.name}",
    )
