"""A process that starts before its database is migrated waits for that, and says what it waits for."""

import logging
import time

import psycopg
from django.conf import settings
from django.db.migrations.loader import MigrationLoader

from kebab.stack.servers.reachability import connect
from kebab.tenancy.roles import APPLICATION

logger = logging.getLogger(__name__)

_POLL_S = 1.0
_ANSWER_LIMIT_S = 3
_SHOWN = 3
_REMEDY = "`kebab init`, or the job that migrates, does that."


def await_migrations(*, without_database: bool = False) -> None:
    """Return once the database has all migrations of this code; each new reason to wait is logged once.

    The embedded database is prepared by whoever started it. `without_database`: don't wait for one that
    can't be reached; what serves then answers that itself.
    """
    if settings.KEBAB_EMBEDDED_POSTGRES:
        return
    expected = set(MigrationLoader(None).graph.leaf_nodes())
    said = ""
    while reason := _reason_to_wait(expected, without_database=without_database):
        if reason != said:
            logger.warning("Waiting: %s", reason)
            said = reason
        time.sleep(_POLL_S)
    if said:
        logger.warning("The database is ready; starting.")


def _reason_to_wait(expected: set[tuple[str, str]], *, without_database: bool) -> str:
    """Return why this process can't start; "" when it can."""
    try:
        missing = sorted(".".join(each) for each in expected - _applied())
    except (psycopg.errors.UndefinedTable, psycopg.errors.InsufficientPrivilege):
        return f"the database isn't prepared yet; {_REMEDY}"
    except psycopg.OperationalError as error:
        told = f"the database can't be reached ({str(error).strip().splitlines()[0]})."
        return "" if without_database else told
    named = ", ".join(missing[:_SHOWN]) + (", …" if len(missing) > _SHOWN else "")
    return f"the database lacks {named}; {_REMEDY}" if missing else ""


def _applied() -> set[tuple[str, str]]:
    with connect(settings.DATABASES[APPLICATION], connect_timeout=_ANSWER_LIMIT_S) as connection:
        return set(connection.execute("SELECT app, name FROM django_migrations").fetchall())
