"""Migration operations for row-level security: the policies of tables whose rows belong to a workspace.

The compared values are sub-selects, which PostgreSQL evaluates once for each statement (InitPlans), not for
each row. A missing or empty setting compares as NULL: no row.
"""

from collections.abc import Iterable
from typing import Final

from django.db import migrations

_SETTING: Final = "current_setting('kebab.workspace_id', true)"
# As an inequality: PostgreSQL estimates that nearly all rows pass one with an unknown value, as they do, and
# plans as without a policy. For a plain boolean it estimates half, again for each joined table.
_IS_EVERYWHERE: Final = f"(SELECT ({_SETTING} = '*')::int) <> 0"
_ACTING_IN: Final = f"(SELECT nullif(nullif({_SETTING}, ''), '*')::uuid)"


def wall(table: str, column: str = "workspace_id", *, shows_unowned: bool = False) -> migrations.RunSQL:
    """Add a policy: statements see and write the rows of `table` whose `column` is the current workspace.

    With `shows_unowned` also the rows of no workspace, whose column is NULL.
    """
    condition = _condition(column, shows_unowned)
    return _create_policies(
        table, [f"CREATE POLICY acting ON {table} USING ({condition}) WITH CHECK ({condition})"]
    )


def wall_of_records(table: str) -> migrations.RunSQL:
    """Add policies for append-only rows; anyone may add rows of no workspace, but not read them."""
    return _create_policies(
        table,
        [
            f"CREATE POLICY acting_reads ON {table} FOR SELECT USING ({_condition('workspace_id', False)})",
            f"CREATE POLICY acting_adds ON {table} FOR INSERT"
            f" WITH CHECK ({_condition('workspace_id', True)})",
        ],
    )


def _condition(column: str, shows_unowned: bool) -> str:
    unowned = f" OR {column} IS NULL" if shows_unowned else ""
    return f"{column} = {_ACTING_IN} OR {_IS_EVERYWHERE}{unowned}"


def _create_policies(table: str, policies: Iterable[str]) -> migrations.RunSQL:
    # FORCE applies them to the owner too, for installations without a separate role.
    switches = [f"ALTER TABLE {table} {word} ROW LEVEL SECURITY" for word in ("ENABLE", "FORCE")]
    back = [f"ALTER TABLE {table} {word} ROW LEVEL SECURITY" for word in ("NO FORCE", "DISABLE")]
    named = [statement.split(" ON ")[0].removeprefix("CREATE POLICY ") for statement in policies]
    return migrations.RunSQL(
        [*policies, *switches], [*back, *(f"DROP POLICY {name} ON {table}" for name in named)]
    )
