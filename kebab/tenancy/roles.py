"""The two roles: the owner of the tables, and the application's, which owns none and passes no wall."""

from typing import Any, Final

from django.db import connections, transaction
from psycopg import sql

#: The aliases under which the database is the owner's (for migrations and grants), and the application's.
OWNER: Final = "owner"
APPLICATION: Final = "default"

_GRANTS: Final = (
    "GRANT USAGE ON SCHEMA public TO {role}",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}",
    "GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role}",
    "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {role}",
    "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE ON SEQUENCES TO {role}",
)
# What was done stays written down; which migrations there were is the owner's to say.
_REVOCATIONS: Final = {
    "people_auditevent": "REVOKE UPDATE, DELETE ON people_auditevent FROM {role}",
    "django_migrations": "REVOKE INSERT, UPDATE, DELETE ON django_migrations FROM {role}",
}
# An early migration has not made them yet.
_IS_THERE: Final = "SELECT to_regclass(%s) IS NOT NULL"
# Made by migrations for the application: what only the owner may do, and one thing of it each.
_FUNCTIONS: Final = r"""
SELECT oid::regprocedure::text FROM pg_proc
WHERE pronamespace = 'public'::regnamespace AND proname LIKE 'kebab\_%'
"""
_MAY_ALL_CREATE: Final = "SELECT has_schema_privilege('public', 'public', 'CREATE')"


def application_role() -> str:
    """Return the name of the role that web, workers and verbs use."""
    return str(connections[APPLICATION].settings_dict["USER"])


def grant_to_application() -> None:
    """Let the application's role use the tables as they are now; the owner says so, after migrations."""
    if application_role() == connections[OWNER].settings_dict["USER"]:
        return
    # At once: what is granted on all tables is never there without what is taken back of it.
    with transaction.atomic(using=OWNER), connections[OWNER].cursor() as cursor:
        for grant in _GRANTS:
            _tell(cursor, grant)
        for name, revocation in _REVOCATIONS.items():
            cursor.execute(_IS_THERE, [name])
            if cursor.fetchone()[0]:
                _tell(cursor, revocation)
        cursor.execute(_FUNCTIONS)
        for (function,) in cursor.fetchall():
            _tell(cursor, f"GRANT EXECUTE ON FUNCTION {function} TO {{role}}")
        cursor.execute(_MAY_ALL_CREATE)
        if cursor.fetchone()[0]:  # as in databases made before PostgreSQL 15
            cursor.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")


def grant_truncate() -> None:
    """Let the application's role empty tables, as tests do between them."""
    with connections[OWNER].cursor() as cursor:
        _tell(cursor, "GRANT TRUNCATE ON ALL TABLES IN SCHEMA public TO {role}")


def _tell(cursor: Any, grant: str) -> None:
    cursor.execute(sql.SQL(grant).format(role=sql.Identifier(application_role())))
