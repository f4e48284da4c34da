"""What proves that a bundle is whole: digests of its sections, and a seal behind the database.

SQLite never looks behind its last page, so 48 bytes are kept there: eight that say what they are, the length
of the database and the BLAKE3 of its bytes. Every byte that is lost, added or changed shows.
"""

import struct
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import apsw
from blake3 import blake3

from search.bundles.errors import BundleDamaged, BundleUnreadable, NotABundle

#: What SQLite keeps in a column.
Value = int | float | str | bytes | None

_MARK = b"KEBABSUM"
_SEAL = struct.Struct("<8sQ32s")
_READ_BYTES = 4 * 2**20
_SQLITE = b"SQLite format 3\x00"


def seal(path: Path) -> None:
    """Put the seal behind a database that is closed and complete."""
    length = path.stat().st_size
    with path.open("r+b") as file:
        digest = _digest(_pieces(file.read, length))
        file.seek(length)
        file.write(_SEAL.pack(_MARK, length, digest))


def check_ends(path: Path) -> int:
    """Return the length of the database in bytes.

    Raises BundleUnreadable, NotABundle, and BundleDamaged where the file is not as long as its seal says.
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
        raise NotABundle(f"{path} is no bundle; kebab export writes them.")
    if mark != _MARK or length != size - _SEAL.size:
        raise BundleDamaged(
            f"{path} is cut off, or something was added: its {size:,} bytes don't end in the seal that kebab"
            " export puts there. Copy it again."
        )
    return length


def check_bytes(path: Path, on_bytes: Callable[[int], None] = lambda count: None) -> None:
    """Compare all bytes of the database with the seal. Raises BundleDamaged, and what `check_ends` does."""
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
    left = length
    while left and (piece := read(min(left, _READ_BYTES))):
        left -= len(piece)
        yield piece


def _digest(pieces: Iterable[bytes]) -> bytes:
    hasher = blake3()
    for piece in pieces:
        hasher.update(piece)
    return hasher.digest()


class RowDigest:
    """The BLAKE3 of rows in their order: each value as its type, its length and its bytes."""

    def __init__(self) -> None:
        self._hasher = blake3()
        self.rows = 0

    def add(self, row: Iterable[Value]) -> None:
        """Take in a row."""
        said = bytearray()
        for value in row:
            mark, body = _as_bytes(value)
            said += mark + len(body).to_bytes(8, "little") + body
        self._hasher.update(len(said).to_bytes(8, "little"))
        self._hasher.update(said)
        self.rows += 1

    def hexdigest(self) -> str:
        """Give it for the rows so far, as 64 hex digits."""
        return self._hasher.hexdigest()


def _as_bytes(value: Value) -> tuple[bytes, bytes]:
    if value is None:
        return b"n", b""
    if isinstance(value, int):
        return b"i", value.to_bytes(8, "little", signed=True)
    if isinstance(value, float):
        return b"f", struct.pack("<d", value)
    if isinstance(value, str):
        return b"t", value.encode("utf-8", "surrogatepass")
    return b"b", bytes(value)


# In an order that is the same in every copy. What FTS5 keeps of the text, `chunks_fts_content`, is read too.
_INDEX = (
    "SELECT * FROM meta ORDER BY key",
    "SELECT * FROM documents ORDER BY doc",
    "SELECT * FROM document_tags ORDER BY tag, doc",
    "SELECT * FROM chunks ORDER BY chunk",
    "SELECT * FROM chunks_fts_content ORDER BY id",
    "SELECT * FROM chunks_fts_docsize ORDER BY id",
    "SELECT * FROM chunks_fts_config ORDER BY k",
    "SELECT * FROM chunks_fts_idx ORDER BY segid, term",
    "SELECT * FROM chunks_fts_data ORDER BY id",
    "SELECT * FROM parts ORDER BY part",
    "SELECT * FROM postings ORDER BY part, term",
    "SELECT * FROM blocks ORDER BY block",
)


def index_digest(connection: apsw.Connection, on_row: Callable[[], None] = lambda: None) -> RowDigest:
    """Return the digest of all that a search reads of the index."""
    digest = RowDigest()
    for statement in _INDEX:
        for row in connection.execute(statement):
            digest.add(row)
            on_row()
    return digest
