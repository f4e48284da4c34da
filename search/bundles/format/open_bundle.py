"""The seal of bundles, and the safe opening of untrusted ones.

Nothing in the file is executed, and only the format's tables are read
(https://www.sqlite.org/security.html, "Untrusted SQLite Database Files").

SQLite never reads beyond its last page, so the seal is 48 bytes after it: eight that mark it, the length of
the database and the BLAKE3 of its bytes. Every lost, added or changed byte is detected.
"""

import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import quote

import apsw
from blake3 import blake3

from search.bundles.errors import BundleDamaged, BundleRefused, BundleTooNew, BundleUnreadable, NotABundle
from search.bundles.format.layout import APPLICATION_ID, CREATE, FORMAT, MAX_ROW_BYTES

#: A value of a SQLite column.
Value = int | float | str | bytes | None

_MARK = b"KEBABSUM"
_SEAL = struct.Struct("<8sQ32s")
_READ_BYTES = 4 * 2**20
_SQLITE = b"SQLite format 3\x00"


def seal(path: Path) -> None:
    """Append the seal to a closed and complete database."""
    length = path.stat().st_size
    with path.open("r+b") as file:
        digest = _digest(_pieces(file.read, length))
        file.seek(length)
        file.write(_SEAL.pack(_MARK, length, digest))


def check_ends(path: Path) -> int:
    """Check header and seal, and return the length of the database in bytes.

    Raises BundleUnreadable, NotABundle, and BundleDamaged when the file's length differs from its seal's.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(0)
            head = file.read(len(_SQLITE))
            file.seek(max(0, size - _SEAL.size))
            mark, length, _ = _SEAL.unpack(file.read(_SEAL.size).rjust(_SEAL.size))
    except OSError as error:
        raise BundleUnreadable(f"{path} can't be read: {error.strerror or error}.") from error
    if head != _SQLITE[: len(head)] or not head:
        raise NotABundle(f"{path} is not a bundle; kebab export writes them.")
    if mark != _MARK or length != size - _SEAL.size:
        raise BundleDamaged(
            f"{path} is cut off, or something was added: its {size:,} bytes don't end in the seal that kebab"
            " export puts there. Copy it again."
        )
    return int(length)


def check_bytes(path: Path, on_bytes: Callable[[int], None] = lambda count: None) -> None:
    """Compare the database's bytes with the seal. Raises BundleDamaged and the errors of `check_ends`."""
    length = check_ends(path)

    def read(wanted: int) -> bytes:
        piece = file.read(wanted)
        on_bytes(len(piece))
        return piece

    with path.open("rb") as file:
        found = _digest(_pieces(read, length))
        expected = _SEAL.unpack(file.read(_SEAL.size))[2]
    if found != expected:
        raise BundleDamaged(f"{path} has bytes that are not those that were written. Copy it again.")


def _pieces(read: Callable[[int], bytes], length: int) -> Iterator[bytes]:
    remaining = length
    while remaining and (piece := read(min(remaining, _READ_BYTES))):
        remaining -= len(piece)
        yield piece


def _digest(pieces: Iterable[bytes]) -> bytes:
    hasher = blake3()
    for piece in pieces:
        hasher.update(piece)
    return hasher.digest()


class RowDigest:
    """BLAKE3 of rows in order: each value is hashed as its type, its length and its bytes."""

    def __init__(self) -> None:
        self._hasher = blake3()
        self.rows = 0

    def add(self, row: Iterable[Value]) -> None:
        """Add a row to the digest."""
        encoded = bytearray()
        for value in row:
            mark, body = _encode_value(value)
            encoded += mark + len(body).to_bytes(8, "little") + body
        self._hasher.update(len(encoded).to_bytes(8, "little"))
        self._hasher.update(encoded)
        self.rows += 1

    def hexdigest(self) -> str:
        """Return the digest of the rows so far, 64 hex digits."""
        return self._hasher.hexdigest()


def _encode_value(value: Value) -> tuple[bytes, bytes]:
    if value is None:
        return b"n", b""
    if isinstance(value, int):
        return b"i", value.to_bytes(8, "little", signed=True)
    if isinstance(value, float):
        return b"f", struct.pack("<d", value)
    if isinstance(value, str):
        return b"t", value.encode("utf-8", "surrogatepass")
    return b"b", bytes(value)


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
