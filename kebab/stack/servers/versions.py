"""Versions of the servers and libraries that Kebab runs on."""

import re

import apsw
from django.db import connection

Version = tuple[int, ...]


def parse_version(text: str) -> Version:
    """Parse the version that `text` begins with: (0, 8, 5) for `0.8.5`, (18, 1) for `18.1 (Debian)`."""
    found = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def format_version(version: Version) -> str:
    """Format a version: `0.8.5` for (0, 8, 5)."""
    return ".".join(map(str, version))


def postgres_version() -> Version:
    """Return the server's version. Raises OperationalError when it can't be reached."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        return parse_version(cursor.fetchone()[0])


def pgvector_version() -> Version | None:
    """Return the version of pgvector in this database; None when it isn't installed there."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
        row = cursor.fetchone()
    return parse_version(row[0]) if row else None


def sqlite_version() -> Version:
    """Return the version of the SQLite inside apsw, which is the one that mirrors use."""
    return parse_version(apsw.sqlite_lib_version())
