"""Safe opening of untrusted bundles: nothing in the file is executed, and only the format's tables are read.

https://www.sqlite.org/security.html, "Untrusted SQLite Database Files".
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import quote

import apsw

from search.bundles.errors import BundleDamaged, BundleRefused, BundleTooNew, NotABundle
from search.bundles.format.layout import APPLICATION_ID, CREATE, FORMAT, MAX_ROW_BYTES
from search.bundles.format.seal import check_ends

# Named how releases up to 0.3 indexed the text.
_LAST_BYTE: Final = 0xFF
# A row has some columns in addition to its body.
_MAX_VALUE_BYTES: Final = MAX_ROW_BYTES + 2**20
_SWITCHES: Final = {
    apsw.SQLITE_DBCONFIG_DEFENSIVE: 1,
    apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_VIEW: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION: 0,
    apsw.SQLITE_DBCONFIG_WRITABLE_SCHEMA: 0,
}
_LIMITS: Final = {
    apsw.SQLITE_LIMIT_LENGTH: _MAX_VALUE_BYTES,
    apsw.SQLITE_LIMIT_ATTACHED: 0,
    apsw.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
}
_SCHEMA: Final = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"


@contextmanager
def translate_damage(path: Path) -> Iterator[None]:
    """Translate SQLite's errors for `path` to NotABundle, BundleDamaged and BundleRefused."""
    try:
        yield
    except apsw.NotADBError as error:
        raise NotABundle(f"{path} is not a bundle; kebab export writes them.") from error
    except (apsw.CorruptError, apsw.NoFTS5Error, apsw.TooBigError, apsw.IOError, UnicodeDecodeError) as error:
        raise BundleDamaged(f"{path} is damaged: {error}. Copy it again.") from error
    except (apsw.SQLError, apsw.ConstraintError, apsw.MismatchError) as error:
        raise BundleRefused(f"{path} is refused: {error}.") from error


def open_bundle(path: Path) -> apsw.Connection:
    """Open a bundle read-only, also on read-only media, without creating files next to it.

    Raises BundleUnreadable, NotABundle, BundleTooNew, BundleDamaged, and BundleRefused for tables other than
    those of a bundle.
    """
    check_ends(path)
    with translate_damage(path):
        connection = _connect(path)
        try:
            _check_kind(connection, path)
            _check_schema(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def _connect(path: Path) -> apsw.Connection:
    # Immutable: the file is not locked, and no journal next to it is read.
    address = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
    connection = apsw.Connection(address, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    for switch, value in _SWITCHES.items():
        connection.config(switch, value)
    for limit, most in _LIMITS.items():
        connection.limit(limit, most)
    connection.pragma("cell_size_check", True)
    connection.pragma("query_only", True)
    connection.pragma("mmap_size", 0)
    connection.pragma("cache_size", -8_000)
    return connection


def _check_kind(connection: apsw.Connection, path: Path) -> None:
    application = int(connection.pragma("application_id"))
    if application & ~_LAST_BYTE != APPLICATION_ID:
        raise NotABundle(f"{path} is not a bundle but another SQLite database; kebab export writes bundles.")
    version = int(connection.pragma("user_version"))
    if version > FORMAT:
        raise BundleTooNew(
            f"{path} is of format {version}; this release reads up to {FORMAT}. Update Kebab first."
        )
    if version < 1:
        raise BundleRefused(f"{path} says that it is of format {version}; there is none such.")


def _check_schema(connection: apsw.Connection, path: Path) -> None:
    """Check, before any table is read, that the format's tables exist and there are no views or triggers."""
    found = set(connection.execute(_SCHEMA))
    if not _expected_schema() <= found:
        raise BundleRefused(f"{path} is refused: its tables differ from those in format {FORMAT}.")
    if any(type_ not in ("table", "index") for type_, *_ in found):
        raise BundleRefused(f"{path} is refused: it holds views or triggers.")


@cache
def _expected_schema() -> frozenset[tuple[object, ...]]:
    empty = apsw.Connection(":memory:")
    empty.execute(CREATE)
    expected = frozenset(empty.execute(_SCHEMA))
    empty.close()
    return expected
