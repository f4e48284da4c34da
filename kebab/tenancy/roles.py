"""The two database roles: the owner of the tables, and the application's, which is subject to policies."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.db import connections, transaction
from psycopg import Connection, OperationalError, errors, sql

from kebab.tenancy.postgres.pool import connect

#: The database aliases of the owner (for migrations and grants), and of the application.
OWNER: Final = "owner"
APPLICATION: Final = "default"

_GRANTS: Final = (
    "GRANT USAGE ON SCHEMA public TO {role}",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}",
    "GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role}",
    "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {role}",
    "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE ON SEQUENCES TO {role}",
)
# Audit events are append-only; applied migrations are recorded by the owner.
_REVOCATIONS: Final = {
    "people_auditevent": "REVOKE UPDATE, DELETE ON people_auditevent FROM {role}",
    "django_migrations": "REVOKE INSERT, UPDATE, DELETE ON django_migrations FROM {role}",
}
# Early migrations have not created these tables yet.
_IS_THERE: Final = "SELECT to_regclass(%s) IS NOT NULL"
# Functions that migrations create for the application: each does one thing with the owner's rights.
_FUNCTIONS: Final = r"""
SELECT oid::regprocedure::text FROM pg_proc
WHERE pronamespace = 'public'::regnamespace AND proname LIKE 'kebab\_%'
"""
_MAY_ALL_CREATE: Final = "SELECT has_schema_privilege('public', 'public', 'CREATE')"


def application_role() -> str:
    """Return the name of the role that web, workers and commands use."""
    return str(connections[APPLICATION].settings_dict["USER"])


def grant_to_application() -> None:
    """Grant the application's role its rights on all tables, as the owner, after migrations."""
    if application_role() == connections[OWNER].settings_dict["USER"]:
        return
    # In one transaction, so that grants on all tables are never visible without the revocations.
    with transaction.atomic(using=OWNER), connections[OWNER].cursor() as cursor:
        for grant in _GRANTS:
            _execute_grant(cursor, grant)
        for name, revocation in _REVOCATIONS.items():
            cursor.execute(_IS_THERE, [name])
            if cursor.fetchone()[0]:
                _execute_grant(cursor, revocation)
        cursor.execute(_FUNCTIONS)
        for (function,) in cursor.fetchall():
            _execute_grant(cursor, f"GRANT EXECUTE ON FUNCTION {function} TO {{role}}")
        cursor.execute(_MAY_ALL_CREATE)
        if cursor.fetchone()[0]:  # as in databases created before PostgreSQL 15
            cursor.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")


def grant_truncate() -> None:
    """Grant TRUNCATE on all tables to the application's role, for tests."""
    with connections[OWNER].cursor() as cursor:
        _execute_grant(cursor, "GRANT TRUNCATE ON ALL TABLES IN SCHEMA public TO {role}")


def _execute_grant(cursor: Any, grant: str) -> None:
    cursor.execute(sql.SQL(grant).format(role=sql.Identifier(application_role())))


_LOCK_LIMIT_MS = 5_000


class NotTheOwner(Exception):
    """The owner's URL is missing, wrong or unreachable; set KEBAB_OWNER_DATABASE_URL."""


@contextmanager
def owner_connection() -> Iterator[Connection]:
    """Yield a connection in autocommit that waits for locks for at most five seconds.

    It is outside Django: it has no statement timeout, and can run statements that allow no transaction.
    Raises NotTheOwner if it can't connect, or if a statement needs the owner's rights.
    """
    try:
        owner = connect(connections[OWNER].settings_dict, options=f"-c lock_timeout={_LOCK_LIMIT_MS}")
    except OperationalError as error:
        raise NotTheOwner(str(error)) from error
    with owner:
        try:
            yield owner
        except errors.InsufficientPrivilege as error:
            raise NotTheOwner(str(error)) from error
