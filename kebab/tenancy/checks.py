"""What `kebab doctor` and `manage.py check --deploy` say about row-level security."""

from collections.abc import Sequence
from typing import Any, Final

from django.apps import apps
from django.core import checks
from django.db import connection, connections
from django.db.models import Model

from kebab.observability.health.checks import CheckResult, failed, repaired, warning, well
from kebab.tenancy.rls_repair import rebuild_walls
from kebab.tenancy.roles import OWNER, application_role

#: What `check_walls` is called.
WALLS: Final = "row-level security"
_REMEDY = (
    "Have DATABASE_URL name a role that owns nothing (CREATE ROLE … LOGIN NOSUPERUSER NOBYPASSRLS), "
    "KEBAB_OWNER_DATABASE_URL the role that owns the tables, and run: kebab init"
)
_RIGHTS = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
_OWNED = "SELECT relname FROM pg_class WHERE oid = ANY(%s::regclass[]) AND pg_has_role(relowner, 'USAGE')"
# One policy that lets a row pass is enough, so that each must ask where the statement acts.
_OPEN = """
SELECT relname FROM pg_class c WHERE oid = ANY(%s::regclass[]) AND NOT (
    relrowsecurity AND relforcerowsecurity AND coalesce((
        SELECT bool_and(coalesce(pg_get_expr(polqual, polrelid) LIKE '%%kebab.workspace_id%%', true)
            AND coalesce(pg_get_expr(polwithcheck, polrelid) LIKE '%%kebab.workspace_id%%', true))
        FROM pg_policy WHERE polrelid = c.oid AND polpermissive), false)
) ORDER BY relname
"""


def tenant_models() -> list[type[Model]]:
    """Return the models whose rows belong to a workspace, and that of workspaces themselves."""
    workspace = apps.get_model("people", "Workspace")
    return [workspace, *(model for model in apps.get_models() if _refers_to(model, workspace))]


def unwalled_tables() -> list[str]:
    """Return the tenant tables without policy, with one that all rows pass, or that don't hold all to it."""
    with connection.cursor() as cursor:
        cursor.execute(_OPEN, [_tables()])
        return [name for (name,) in cursor.fetchall()]


def check_walls(repair: bool = False) -> CheckResult:
    """Return whether the database itself keeps workspaces apart from each other."""
    unwalled = unwalled_tables()
    if unwalled:
        return _unwalled(unwalled, repair=repair)
    with connection.cursor() as cursor:
        cursor.execute(_RIGHTS)
        passes_walls = cursor.fetchone()[0]
        cursor.execute(_OWNED, [_tables()])
        owned = cursor.fetchall()
    role = application_role()
    if passes_walls:
        detail = f"the role {role} passes every policy: a superuser, or with BYPASSRLS"
        return failed(WALLS, detail, _REMEDY)
    if owned:
        detail = f"holds, but the role {role} may switch it off: it owns {len(owned)} tables"
        return warning(WALLS, detail, _REMEDY)
    return well(WALLS, f"holds for the role {role}")


def _unwalled(tables: Sequence[str], *, repair: bool) -> CheckResult:
    detail = f"no policy holds for {', '.join(tables[:5])}"
    if not repair:
        return failed(WALLS, detail, "Run: kebab doctor --repair")
    rebuild_walls(tables)
    if still := unwalled_tables():
        return failed(WALLS, f"no policy holds for {', '.join(still[:5])}", "Run: kebab init")
    return repaired(WALLS, f"{detail}; made again")


def check_roles(app_configs: Any, **_: Any) -> list[checks.CheckMessage]:
    """Warn where one role is owner and application; for `check --deploy`, which asks no database."""
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
