"""Integrity of a bundle: digests of its sections, and a seal after the database.

SQLite never reads beyond its last page, so 48 bytes are appended there: eight that mark the seal, the length
of the database and the BLAKE3 of its bytes. Every lost, added or changed byte is detected.
"""

import struct
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from blake3 import blake3

from search.bundles.errors import BundleDamaged, BundleUnreadable, NotABundle

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
