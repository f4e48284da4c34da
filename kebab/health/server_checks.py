"""Checks of the servers and libraries that everything stands on."""

from functools import cache

import redis
from django.core import checks as system_checks
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from kebab.health.checks import CheckResult, CheckStatus, register_check
from kebab.health.versions import (
    Version,
    parse_version,
    pgvector_version,
    postgres_version,
    redis_client,
    show_version,
    sqlite_version,
)
from kebab.limits.checks import check_proxies
from kebab.tenancy.checks import WALLS, check_roles, check_walls

MIN_POSTGRES = (15,)
MIN_PGVECTOR = (0, 8, 4)
MIN_REDIS = (6, 2)
# Older ones can corrupt a WAL file that two connections write, or overflow on crafted FTS5 data.
MIN_SQLITE = (3, 53, 2)


def register() -> None:
    """Make these checks known, the most basic first."""
    register_check("postgres", check_postgres)
    register_check("pgvector", check_pgvector)
    register_check("redis", check_redis)
    register_check("migrations", check_migrations)
    register_check(WALLS, check_walls)
    register_check("sqlite", check_sqlite)
    system_checks.register(check_roles, deploy=True)
    system_checks.register(check_proxies, deploy=True)


def check_postgres(repair: bool = False) -> CheckResult:
    """Whether Postgres answers and is new enough."""
    try:
        return _compare("postgres", postgres_version(), MIN_POSTGRES)
    except DatabaseError as error:
        return _failed("postgres", f"can't be reached: {error}", "Run: kebab up, or check DATABASE_URL.")


def check_pgvector(repair: bool = False) -> CheckResult:
    """Whether pgvector is in the database and new enough."""
    try:
        version = pgvector_version()
    except DatabaseError as error:
        return _failed("pgvector", f"can't be asked for: {error}", "Postgres first.")
    if version is None:
        remedy = "Run: kebab init; on a server of your own: CREATE EXTENSION vector"
        return _failed("pgvector", "is not installed in the database", remedy)
    return _compare("pgvector", version, MIN_PGVECTOR)


def check_redis(repair: bool = False) -> CheckResult:
    """Whether Redis answers, is new enough and keeps an append-only file."""
    try:
        with redis_client() as client:
            version = parse_version(client.info("server")["redis_version"])
            has_aof = client.info("persistence").get("aof_enabled") == 1
    except redis.RedisError as error:
        return _failed("redis", f"can't be reached: {error}", "Run: kebab up, or check REDIS_URL.")
    found = _compare("redis", version, MIN_REDIS)
    if found.status is CheckStatus.OK and not has_aof:
        return CheckResult(
            name="redis",
            status=CheckStatus.WARNING,
            detail=f"{found.detail}, no append-only file: what is queued is lost with it",
            remedy="Set appendonly yes in its configuration.",
        )
    return found


def check_migrations(repair: bool = False) -> CheckResult:
    """Whether the database has the tables that this code expects."""
    try:
        missing = missing_migrations()
    except DatabaseError as error:
        return _failed("migrations", f"can't be read: {error}", "Postgres first.")
    if missing:
        return _failed("migrations", f"not applied: {', '.join(missing[:5])}", "Run: kebab init")
    return CheckResult(name="migrations", status=CheckStatus.OK, detail="all are applied")


def check_sqlite(repair: bool = False) -> CheckResult:
    """Whether the SQLite of the mirrors is one that is safe."""
    return _compare("sqlite", sqlite_version(), MIN_SQLITE)


def missing_migrations() -> list[str]:
    """Give the migrations of this code that the database lacks. Raises DatabaseError."""
    applied = set(MigrationRecorder(connection).applied_migrations())
    return [f"{app}.{name}" for app, name in sorted(_expected_migrations() - applied)]


@cache
def _expected_migrations() -> frozenset[tuple[str, str]]:
    """The latest migration of each app; the code's migrations don't change while it runs."""
    return frozenset(MigrationLoader(None).graph.leaf_nodes())


def _compare(name: str, version: Version, least: Version) -> CheckResult:
    if version < least:
        return _failed(
            name, f"is {show_version(version)}", f"Install {show_version(least)} or a later version."
        )
    return CheckResult(name=name, status=CheckStatus.OK, detail=show_version(version))


def _failed(name: str, detail: str, remedy: str) -> CheckResult:
    return CheckResult(name=name, status=CheckStatus.FAILED, detail=detail, remedy=remedy)
