"""Row-level security, for migrations: the policies of tables whose rows belong to a workspace.

What is compared with lies in sub-selects, which PostgreSQL evaluates once a statement (InitPlans) and never
for a row. A setting that is missing or empty compares as NULL: no row.
"""

from collections.abc import Iterable
from typing import Final

from django.db import migrations

_SETTING: Final = "current_setting('kebab.workspace_id', true)"
# As an inequality: PostgreSQL reckons that nearly all rows pass one with an unknown value, as they do, and
# plans as without a policy. Of a bare truth value it reckons half, once more for each table that is joined.
_IS_EVERYWHERE: Final = f"(SELECT ({_SETTING} = '*')::int) <> 0"
_ACTING_IN: Final = f"(SELECT nullif(nullif({_SETTING}, ''), '*')::uuid)"


def wall(table: str, column: str = "workspace_id", *, shows_unowned: bool = False) -> migrations.RunSQL:
    """Let statements see and write the rows of `table` whose `column` is the acting workspace.

    With `shows_unowned` the rows of no workspace, whose column is NULL, as well.
    """
    condition = _condition(column, shows_unowned)
    return _walled(table, [f"CREATE POLICY acting ON {table} USING ({condition}) WITH CHECK ({condition})"])


def wall_of_records(table: str) -> migrations.RunSQL:
    """Do the same for rows that are only ever added; anyone may add one of no workspace, and not read it."""
    return _walled(
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


def _walled(table: str, policies: Iterable[str]) -> migrations.RunSQL:
    # FORCE: the owner too, where the application has no role of its own.
    switches = [f"ALTER TABLE {table} {word} ROW LEVEL SECURITY" for word in ("ENABLE", "FORCE")]
    back = [f"ALTER TABLE {table} {word} ROW LEVEL SECURITY" for word in ("NO FORCE", "DISABLE")]
    named = [statement.split(" ON ")[0].removeprefix("CREATE POLICY ") for statement in policies]
    return migrations.RunSQL(
        [*policies, *switches], [*back, *(f"DROP POLICY {name} ON {table}" for name in named)]
    )
