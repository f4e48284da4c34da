"""The wait of a starting process until its database is migrated."""

import logging
import time
from typing import Any

import psycopg
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS
from django.db.migrations.loader import MigrationLoader

from kebab.stack.servers.postgres_requirements import check_sessions
from kebab.tenancy.postgres.pool import connect

logger = logging.getLogger(__name__)

_POLL_S = 1.0
_ANSWER_LIMIT_S = 3
_SHOWN = 3
_REMEDY = "`kebab init`, or the job that migrates, does that."


def wait_until_migrated(*, without_database: bool = False) -> None:
    """Wait until the database has all migrations of this code; each new reason to wait is logged once.

    The embedded database is prepared by the process that started it. `without_database`: don't wait for a
    database that can't be reached; the web process then reports that in its responses.
    """
    if settings.KEBAB_EMBEDDED_POSTGRES:
        return
    expected = set(MigrationLoader(None).graph.leaf_nodes())
    last_reason = ""
    while reason := _reason_to_wait(expected, without_database=without_database):
        if reason != last_reason:
            logger.warning("Waiting: %s", reason)
            last_reason = reason
        time.sleep(_POLL_S)
    if last_reason:
        logger.warning("The database is ready; starting.")


def _reason_to_wait(expected: set[tuple[str, str]], *, without_database: bool) -> str:
    """Return the reason why this process can't start; "" when it can. Raises DatabaseUnsuitable."""
    try:
        check_sessions(_connect)
        missing = sorted(".".join(each) for each in expected - _applied_migrations())
    except (psycopg.errors.UndefinedTable, psycopg.errors.InsufficientPrivilege):
        return f"the database isn't prepared yet; {_REMEDY}"
    except psycopg.OperationalError as error:
        message = f"the database can't be reached ({str(error).strip().splitlines()[0]})."
        return "" if without_database else message
    named = ", ".join(missing[:_SHOWN]) + (", …" if len(missing) > _SHOWN else "")
    return f"the database lacks {named}; {_REMEDY}" if missing else ""


def _connect(**options: Any) -> psycopg.Connection:
    return connect(settings.DATABASES[DEFAULT_DB_ALIAS], connect_timeout=_ANSWER_LIMIT_S, **options)


def _applied_migrations() -> set[tuple[str, str]]:
    with _connect() as connection:
        return set(connection.execute("SELECT app, name FROM django_migrations").fetchall())
