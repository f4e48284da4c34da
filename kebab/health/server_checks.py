"""Checks of the servers and libraries that Kebab depends on."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, cast

import psycopg
import redis
from django.apps import apps
from django.conf import settings
from django.core import checks
from django.db import DatabaseError, connection, connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Model
from psycopg import sql

from kebab.health.checks import (
    CheckResult,
    CheckStatus,
    DoctorCheck,
    failed_result,
    ok_result,
    repaired_result,
    warning_result,
)
from kebab.health.pending_migrations import find_later, find_missing
from kebab.health.process_checks import (
    PROCESSES,
    check_clock,
    check_configuration,
    check_disks,
    check_processes,
    check_turns,
)
from kebab.http.api.outages import READ_ONLY
from kebab.identity.models import Workspace
from kebab.stack.errors import DatabaseUnsuitable
from kebab.stack.servers.lost_changes import RIGHTS, forget_lost_range, lost_ranges
from kebab.stack.servers.postgres_requirements import (
    MIN_PGVECTOR,
    MIN_POSTGRES,
    PACKAGES,
    check_sessions,
    is_read_only,
    pgvector_warning,
)
from kebab.stack.servers.redis_client import redis_client
from kebab.stack.servers.replication import is_replicated, read_replication
from kebab.stack.servers.versions import (
    Version,
    format_version,
    parse_version,
    pgvector_version,
    postgres_version,
    sqlite_version,
)
from kebab.tenancy.postgres.base import DatabaseWrapper
from kebab.tenancy.postgres.pool import connect
from kebab.tenancy.postgres.standby import StandbyPool
from kebab.tenancy.roles import OWNER, NotTheOwner, application_role, owner_connection

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


_DUMPERS = """
SELECT rolname FROM pg_roles
WHERE rolcanlogin AND (rolsuper OR (rolbypassrls AND has_table_privilege(oid, 'people_workspace', 'SELECT')))
ORDER BY rolname
"""


def check_dump(repair: bool = False) -> CheckResult:
    """Check that a role can dump the database; the owner can't while row-level security holds for it."""
    if settings.KEBAB_EMBEDDED_POSTGRES:
        return ok_result("dump", "kebab backup copies the whole cluster")
    owner_role = connections[OWNER].settings_dict["USER"]
    try:
        with owner_connection() as owner:
            owner.execute("SET row_security = off")  # as pg_dump does
            owner.execute("SELECT FROM people_workspace LIMIT 0")
        return ok_result("dump", f"pg_dump works as {owner_role}")
    except NotTheOwner as error:
        reason = str(error).strip().splitlines()[0]
    with connection.cursor() as cursor:
        cursor.execute(_DUMPERS)
        able = ", ".join(name for (name,) in cursor.fetchall())
    if able:
        return ok_result("dump", f"pg_dump works as {able}; as {owner_role} it fails: {reason}")
    remedy = "Create a role with BYPASSRLS: docs/operations/backup.md, Your own Postgres"
    return warning_result(
        "dump", f"no role can dump the database; as {owner_role} it fails: {reason}", remedy
    )


MIN_REDIS = (6, 2)
# Indexes in creation are skipped; those of vectors have a check of their own.
_INVALID_INDEXES = r"""
SELECT c.relnamespace::regnamespace::text, c.relname
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE c.relkind = 'i' AND c.oid >= 16384 AND NOT (i.indisvalid AND i.indisready)
    AND c.relname NOT LIKE 'vector\_hnsw\_%'
    AND NOT EXISTS (SELECT 1 FROM pg_stat_progress_create_index p WHERE p.index_relid = c.oid)
ORDER BY 1, 2
"""
# Older versions can corrupt a WAL file that two connections write, or overflow on crafted FTS5 data.
MIN_SQLITE = (3, 53, 2)


def check_postgres(repair: bool = False) -> CheckResult:
    """Check that Postgres answers and is new enough."""
    try:
        found = _compare("postgres", postgres_version(), (MIN_POSTGRES,))
        check_sessions(partial(connect, connection.settings_dict))
        connection.ensure_connection()
        if found.status is CheckStatus.OK and is_read_only(connection.connection):
            return failed_result("postgres", *READ_ONLY.split(". "))
        return found
    except DatabaseUnsuitable as error:
        return failed_result("postgres", *str(error).split(". "))
    except (DatabaseError, psycopg.OperationalError) as error:
        return failed_result(
            "postgres", f"can't be reached: {error}", "Run: kebab up, or check DATABASE_URL."
        )


def check_replication(repair: bool = False) -> CheckResult:
    """Check that acknowledged writes are on a standby, where there is one, and that the standby follows."""
    connection.ensure_connection()
    found = read_replication(connection.connection)
    if found.is_standby:
        return ok_result("replication", "a standby, which searches read from; nothing can be written")
    if not (is_replicated() or found.standbys):
        return ok_result("replication", "one server: what it acknowledges is safe as its disk is")
    behind = "" if found.lag_s is None else f", the slowest {found.lag_s:.1f} s behind"
    standbys = f"{found.standbys} connected{behind}"
    if not found.waits_for_standby:
        detail = f"writes are acknowledged before a standby has them; {standbys}"
        result = failed_result if found.is_refused else warning_result
        return result(
            "replication",
            f"{detail}; they are refused" if found.is_refused else detail,
            "Set synchronous_standby_names on the primary (Patroni: synchronous_mode), and"
            " KEBAB_SYNCHRONOUS_COMMIT=on if the server's own level is lower.",
        )
    if not found.standbys or found.synchronous == 0:
        detail = f"writes wait for {found.names}, which is not connected; {standbys}"
        return failed_result("replication", detail, "Start the standby.")
    return ok_result("replication", f"writes wait for {found.names}; {standbys}")


def check_lost_changes(repair: bool = False) -> Iterator[CheckResult]:
    """Check that no failover or restore of the last week has lost changes; a repair ends the listing."""
    names = {RIGHTS: RIGHTS, **{str(pk): slug for pk, slug in Workspace.objects.values_list("pk", "slug")}}
    for found, found_at in lost_ranges().items():
        if found.subject not in names:
            continue
        name = f"changes of {names[found.subject]}"
        detail = f"{found.first} to {found.last} may be lost since timeline {found.former_timeline} became"
        detail += f" {found.timeline}, noticed at {datetime.fromtimestamp(found_at, UTC):%F %R} UTC"
        if repair:
            forget_lost_range(found)
            yield repaired_result(name, f"{detail}; not listed any more")
        else:
            yield failed_result(name, detail, "Write again what is missing; then run: kebab doctor --repair")


def check_standby(repair: bool = False) -> Iterator[CheckResult]:
    """Check that `KEBAB_DATABASE_READ_URL` leads to a standby of this database that may be read from."""
    if (standby := cast(DatabaseWrapper, connection).standby()) is None:
        return
    pool = cast(StandbyPool, standby.pool)
    try:
        other = pool.getconn()
    except (psycopg.Error, AssertionError) as error:
        yield failed_result("standby", f"can't be read from: {error}", "Check KEBAB_DATABASE_READ_URL.")
        return
    try:
        connection.ensure_connection()
        identity, state = "SELECT system_identifier FROM pg_control_system()", read_replication(other)
        if other.execute(identity).fetchone() != connection.connection.execute(identity).fetchone():
            yield failed_result("standby", "is of another cluster", "Check KEBAB_DATABASE_READ_URL.")
        elif not state.is_standby:
            detail = "KEBAB_DATABASE_READ_URL leads to the primary"
            yield warning_result("standby", detail, "Lead it to a standby, which answers while that is away.")
        else:
            yield ok_result("standby", "can be read from while the primary is away")
    finally:
        pool.putconn(other)


def check_pgvector(repair: bool = False) -> CheckResult:
    """Check that pgvector is in the database and new enough."""
    try:
        version = pgvector_version()
    except DatabaseError as error:
        return failed_result("pgvector", f"can't be asked for: {error}", "Postgres first.")
    if version is None:
        remedy = "Run: kebab init; on a server of your own: CREATE EXTENSION vector"
        return failed_result("pgvector", "is not installed in the database", remedy)
    if fault := pgvector_warning(version):
        remedy = (
            f"Install a newer one from {PACKAGES}, then run as a superuser: ALTER EXTENSION vector UPDATE"
        )
        if version >= MIN_PGVECTOR:
            return warning_result("pgvector", f"is {format_version(version)}: {fault}", remedy)
    return _compare("pgvector", version, MIN_PGVECTOR)


def check_redis(repair: bool = False) -> CheckResult:
    """Check that Redis answers, is new enough and has an append-only file."""
    try:
        with redis_client() as client:
            version = parse_version(client.info("server")["redis_version"])
            has_aof = client.info("persistence").get("aof_enabled") == 1
    except redis.RedisError as error:
        return failed_result("redis", f"can't be reached: {error}", "Run: kebab up, or check REDIS_URL.")
    found = _compare("redis", version, MIN_REDIS)
    if found.status is CheckStatus.OK and not has_aof:
        detail = f"{found.detail}, no append-only file: what is queued is lost with it"
        return warning_result("redis", detail, "Set appendonly yes in its configuration.")
    return found


def check_migrations(repair: bool = False) -> CheckResult:
    """Check that the database has the migrations of this code."""
    try:
        missing = missing_migrations()
    except DatabaseError as error:
        return failed_result("migrations", f"can't be read: {error}", "Postgres first.")
    if missing:
        return failed_result("migrations", f"not applied: {', '.join(missing[:5])}", "Run: kebab init")
    if later := later_migrations():
        detail = f"all are applied, and {', '.join(later[:5])} of a later version"
        return warning_result(
            "migrations", detail, "Right while two versions run side by side, or after a way back."
        )
    return ok_result("migrations", "all are applied")


def check_sqlite(repair: bool = False) -> CheckResult:
    """Check that the SQLite of the mirrors is a safe version."""
    return _compare("sqlite", sqlite_version(), MIN_SQLITE)


def check_indexes(repair: bool = False) -> CheckResult:
    """Check that every index of the database is valid: an interrupted build leaves an invalid one."""
    with connection.cursor() as cursor:
        cursor.execute(_INVALID_INDEXES)
        invalid = cursor.fetchall()
    if not invalid:
        return ok_result("indexes", "all are valid")
    named = ", ".join(name for _, name in invalid[:5])
    if not repair:
        return failed_result("indexes", f"{named} can't be used", "Run: kebab doctor --repair")
    with owner_connection() as owner:
        for schema, name in invalid:
            owner.execute(sql.SQL("REINDEX INDEX CONCURRENTLY {}").format(sql.Identifier(schema, name)))
    return repaired_result("indexes", f"{named} could not be used; built anew")


def missing_migrations() -> list[str]:
    """Return the migrations of this code that the database lacks. Raises DatabaseError."""
    return find_missing(set(MigrationRecorder(connection).applied_migrations()))


def later_migrations() -> list[str]:
    """Return the migrations that the database has and this code doesn't know. Raises DatabaseError."""
    return find_later(set(MigrationRecorder(connection).applied_migrations()))


def _compare(name: str, version: Version, least: Version) -> CheckResult:
    if version < least:
        return failed_result(
            name, f"is {format_version(version)}", f"Install {format_version(least)} or a later version."
        )
    return ok_result(name, format_version(version))


#: The most basic first.
CHECKS = (
    DoctorCheck(name="postgres", check=check_postgres),
    DoctorCheck(name="replication", check=check_replication),
    DoctorCheck(name="lost changes", check=check_lost_changes),
    DoctorCheck(name="standby", check=check_standby),
    DoctorCheck(name="pgvector", check=check_pgvector),
    DoctorCheck(name="redis", check=check_redis),
    DoctorCheck(name="migrations", check=check_migrations),
    DoctorCheck(name=WALLS, check=check_row_level_security),
    DoctorCheck(name="sqlite", check=check_sqlite),
    DoctorCheck(name="indexes", check=check_indexes),
    DoctorCheck(name=PROCESSES, check=check_processes),
    DoctorCheck(name="turns", check=check_turns),
    DoctorCheck(name="clock", check=check_clock),
    DoctorCheck(name="disks", check=check_disks),
    DoctorCheck(name="dump", check=check_dump),
    DoctorCheck(name="configuration", check=check_configuration),
)
