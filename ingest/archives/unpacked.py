"""Decompression of streams within bounded memory, whatever the stream asks for."""

import bz2
import lzma
import zlib
from collections.abc import Callable, Mapping
from typing import BinaryIO, Final, Protocol

from ingest.archives.types import PIECE_BYTES, ArchiveBroken

# `xz -9` needs 65 MiB to decompress; a stream can ask for 4 GiB.
_XZ_LIMIT_BYTES: Final = 128 * 1024**2
_GZIP_FORMAT: Final = 31


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Gunzip:
    """zlib's decompressor with the interface of the others."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=_GZIP_FORMAT)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


#: decompressors by the first bytes of a stream
DECOMPRESSORS: Final[Mapping[bytes, Callable[[], _Decompressor]]] = {
    b"\x1f\x8b": _Gunzip,
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ\x00": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_LIMIT_BYTES),
}


class DecompressedStream:
    """A reader of a compressed file of one stream, or of several concatenated ones."""

    def __init__(self, packed: BinaryIO, new_decompressor: Callable[[], _Decompressor]) -> None:
        self._packed = packed
        self._new_decompressor = new_decompressor
        self._current = new_decompressor()
        # The first bytes of a further stream, read with the end of the one before.
        self._rest = b""
        self._ahead = memoryview(b"")

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes, b"" at the end. Raises ArchiveBroken, OSError."""
        if not self._ahead:
            self._ahead = memoryview(self._read_ahead())
        piece, self._ahead = self._ahead[:size], self._ahead[size:]
        return bytes(piece)

    def _read_ahead(self) -> bytes:
        while not self._current.eof or self._start_next_stream():
            needs_input = self._current.needs_input
            packed, self._rest = self._rest, b""
            if needs_input and not packed:
                packed = self._packed.read(PIECE_BYTES)
            piece = self._decompress(packed)
            if piece:
                return piece
            if needs_input and not packed and not self._current.eof:
                raise ArchiveBroken("The archive is cut off; pack or send it anew.")
        return b""

    def _start_next_stream(self) -> bool:
        rest = self._current.unused_data or self._packed.read(PIECE_BYTES)
        while rest and not rest.strip(b"\0"):  # padding
            rest = self._packed.read(PIECE_BYTES)
        if not rest:
            return False
        self._current, self._rest = self._new_decompressor(), rest
        return True

    def _decompress(self, packed: bytes) -> bytes:
        try:
            return self._current.decompress(packed, PIECE_BYTES)
        except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError, MemoryError) as error:
            raise ArchiveBroken(f"The archive is broken ({error}); pack it anew.") from error
