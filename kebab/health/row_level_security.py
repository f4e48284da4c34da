"""Checks of row-level security for `kebab doctor` and `manage.py check --deploy`."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from django.apps import apps
from django.core import checks
from django.db import connection, connections
from django.db.migrations.loader import MigrationLoader
from django.db.models import Model
from psycopg import sql

from kebab.health.checks import (
    CheckResult,
    failed_result,
    ok_result,
    repaired_result,
    warning_result,
)
from kebab.tenancy.owner_connection import owner_connection
from kebab.tenancy.roles import OWNER, application_role

_POLICIES: Final = "SELECT polname FROM pg_policy WHERE polrelid = %s::regclass"
#: The name of the check `check_row_level_security`.
WALLS: Final = "row-level security"
_REMEDY = (
    "Have DATABASE_URL name a role that owns nothing (CREATE ROLE … LOGIN NOSUPERUSER NOBYPASSRLS), "
    "KEBAB_OWNER_DATABASE_URL the role that owns the tables, and run: kebab init"
)
_RIGHTS = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
_OWNED = "SELECT relname FROM pg_class WHERE oid = ANY(%s::regclass[]) AND pg_has_role(relowner, 'USAGE')"
# A row passes if any permissive policy lets it pass, so each policy must test the current workspace.
_OPEN = """
SELECT relname FROM pg_class c WHERE oid = ANY(%s::regclass[]) AND NOT (
    relrowsecurity AND relforcerowsecurity AND coalesce((
        SELECT bool_and(coalesce(pg_get_expr(polqual, polrelid) LIKE '%%kebab.workspace_id%%', true)
            AND coalesce(pg_get_expr(polwithcheck, polrelid) LIKE '%%kebab.workspace_id%%', true))
        FROM pg_policy WHERE polrelid = c.oid AND polpermissive), false)
) ORDER BY relname
"""


def tenant_models() -> list[type[Model]]:
    """Return the models whose rows belong to a workspace, and the workspace model itself."""
    workspace = apps.get_model("people", "Workspace")
    return [workspace, *(model for model in apps.get_models() if _refers_to(model, workspace))]


def unprotected_tables() -> list[str]:
    """Return the tenant tables without a policy, with one that all rows pass, or with row security off."""
    with connection.cursor() as cursor:
        cursor.execute(_OPEN, [_tables()])
        return [name for (name,) in cursor.fetchall()]


def check_row_level_security(repair: bool = False) -> CheckResult:
    """Check that the database itself isolates workspaces from each other."""
    unwalled = unprotected_tables()
    if unwalled:
        return _report_unprotected(unwalled, repair=repair)
    with connection.cursor() as cursor:
        cursor.execute(_RIGHTS)
        passes_walls = cursor.fetchone()[0]
        cursor.execute(_OWNED, [_tables()])
        owned = cursor.fetchall()
    role = application_role()
    if passes_walls:
        detail = f"the role {role} passes every policy: a superuser, or with BYPASSRLS"
        return failed_result(WALLS, detail, _REMEDY)
    if owned:
        detail = f"holds, but the role {role} may switch it off: it owns {len(owned)} tables"
        return warning_result(WALLS, detail, _REMEDY)
    return ok_result(WALLS, f"holds for the role {role}")


def _report_unprotected(tables: Sequence[str], *, repair: bool) -> CheckResult:
    detail = f"no policy holds for {', '.join(tables[:5])}"
    if not repair:
        return failed_result(WALLS, detail, "Run: kebab doctor --repair")
    rebuild_policies(tables)
    if still := unprotected_tables():
        return failed_result(WALLS, f"no policy holds for {', '.join(still[:5])}", "Run: kebab init")
    return repaired_result(WALLS, f"{detail}; made again")


def check_roles(app_configs: Any, **_: Any) -> list[checks.CheckMessage]:
    """Warn if one role is owner and application; for `check --deploy`, which queries no database."""
    if application_role() != connections[OWNER].settings_dict["USER"]:
        return []
    return [
        checks.Warning(
            f"The database role {application_role()} is the application's and owns the tables: it may switch"
            " row-level security off, and a superuser passes it.",
            hint=_REMEDY,
            id="kebab.W001",
        )
    ]


def _tables() -> list[str]:
    return [model._meta.db_table for model in tenant_models()]


def _refers_to(model: type[Model], workspace: type[Model]) -> bool:
    return any(field.related_model is workspace for field in model._meta.concrete_fields)


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
