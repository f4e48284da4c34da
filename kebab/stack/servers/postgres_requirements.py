"""Requirements of an operator's own Postgres, checked before the first migration."""

from collections.abc import Callable
from typing import Any, Final

from psycopg import Connection, OperationalError

from kebab.stack.errors import DatabaseUnsuitable
from kebab.stack.servers.versions import parse_version

MIN_POSTGRES: Final = 15
#: The first version with iterative index scans.
MIN_PGVECTOR: Final = (0, 8, 0)
#: The first version without known faults in the indexes that Kebab builds.
ADVISED_PGVECTOR: Final = (0, 8, 4)
#: Where newer versions come from, for Debian and Ubuntu.
PACKAGES: Final = "apt.postgresql.org"

_FACTS: Final = """
SELECT
    current_setting('server_version_num')::int / 10000,
    current_database(),
    current_user,
    (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
    (SELECT default_version FROM pg_available_extensions WHERE name = 'vector'),
    (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
        OR (has_database_privilege(current_database(), 'CREATE') AND EXISTS (
            SELECT FROM pg_available_extension_versions WHERE name = 'vector' AND trusted)),
    has_schema_privilege(coalesce(current_schema(), 'public'), 'CREATE')
"""


def check_requirements(connection: Connection[Any]) -> None:
    """Check version, extension and privileges of a database. Raises DatabaseUnsuitable with the remedy."""
    row = connection.execute(_FACTS).fetchone()
    assert row is not None  # noqa: S101 - a query without FROM has one row
    major, database, user, installed, available, may_create, may_make_tables = row
    if major < MIN_POSTGRES:
        raise DatabaseUnsuitable(f"Postgres {major} is too old; Kebab needs {MIN_POSTGRES} or later.")
    package = f"postgresql-{major}-pgvector"
    version = installed or available
    if version is None:
        raise DatabaseUnsuitable(
            f"The server of the database {database} lacks pgvector. Install it there, on Debian or Ubuntu"
            f" by: apt install {package} (from {PACKAGES}, if theirs is older than 0.8)"
        )
    if installed is None and not may_create:
        raise DatabaseUnsuitable(
            f"{user} may not create the extension pgvector in the database {database}. Run as a superuser:"
            f" psql --dbname={database} --command='CREATE EXTENSION vector'"
        )
    if parse_version(version) < MIN_PGVECTOR:
        update = " and then as a superuser: ALTER EXTENSION vector UPDATE" if installed else ""
        raise DatabaseUnsuitable(
            f"pgvector {version} is too old; Kebab needs 0.8.0 or later. Install {package} from"
            f" {PACKAGES},{update or ' then run this again'}."
        )
    if not may_make_tables:
        raise DatabaseUnsuitable(
            f"{user} may not create tables in the database {database}. Run as a superuser:"
            f' psql --command=\'ALTER DATABASE "{database}" OWNER TO "{user}"\''
        )


_POOLED: Final = (
    "DATABASE_URL leads to a pooler that gives connections no session of their own, as pgBouncer does with"
    " pool_mode = transaction, or drops their settings: timeouts, prepared statements, cursors, locks would"
    " be lost. Lead it to Postgres itself; each process of Kebab pools its connections."
)
# A setting of a new connection, and what a session shows of it.
_PROBE: Final = "-c lock_timeout=4999"
_SESSION: Final = "SELECT pg_backend_pid(), current_setting('lock_timeout')"
_TRIES: Final = 5


def check_sessions(connect: Callable[..., Connection[Any]]) -> None:
    """Check that connections keep their session and its settings.

    `connect` opens one with the given `options`. Behind a pooler the server's process is not the announced
    one; by transaction it also changes, or serves another open connection.
    Raises DatabaseUnsuitable, OperationalError.
    """
    try:
        first = connect(options=_PROBE)
    except OperationalError as error:
        if "startup parameter" in str(error):
            raise DatabaseUnsuitable(_POOLED) from error
        raise
    with first:
        session = pid, limit = first.execute(_SESSION).fetchone() or (0, "")
        is_kept = limit == "4999ms"
        if is_kept and pid != first.pgconn.backend_pid:
            with connect(options=_PROBE) as other, other.transaction():
                is_kept = other.execute(_SESSION).fetchone() != session and all(
                    first.execute(_SESSION).fetchone() == session for _ in range(_TRIES)
                )
    if not is_kept:
        raise DatabaseUnsuitable(_POOLED)


def is_read_only(connection: Connection[Any]) -> bool:
    """Return whether new transactions can't write: on a standby, or by a setting."""
    return connection.execute("SHOW transaction_read_only").fetchone() == ("on",)


def pgvector_warning(version: tuple[int, ...]) -> str:
    """Return what is lost with a version of pgvector that is accepted; '' for an advised one."""
    if version >= ADVISED_PGVECTOR:
        return ""
    faults = ["deletions can damage vector indexes, so that hits are missing (mended in 0.8.4)"]
    if version < (0, 8, 2):
        faults.append("building one in parallel can crash the server or leak other data (CVE-2026-3172)")
    return "; ".join(faults)
