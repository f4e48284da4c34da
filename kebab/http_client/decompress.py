"""Decompression of gzip and zlib with a limit of the output's size."""

import zlib
from typing import Final

from kebab.http_client.connections import RequestFailed, ResponseTooLarge

# zlib's window bits for either format, detected from its header.
_GZIP_OR_ZLIB = 47
# At the end of each member zlib copies the rest of its input, so the input is sliced.
_SLICE_BYTES = 16 * 1024
#: What a request may ask for in Accept-Encoding.
ENCODINGS: Final = "gzip, deflate"
_PACKED = frozenset({"gzip", "x-gzip", "deflate"})


class Inflater:
    """An incremental decompressor of concatenated members, up to `limit_bytes` of output in all."""

    def __init__(self, limit_bytes: int) -> None:
        self._remaining_bytes = limit_bytes
        self._limit_bytes = limit_bytes
        self._member = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._has_input = False

    def feed(self, piece: bytes) -> bytes:
        """Decompress `piece`. Raises ResponseTooLarge, RequestFailed."""
        unpacked = bytearray()
        for at in range(0, len(piece), _SLICE_BYTES):
            packed = piece[at : at + _SLICE_BYTES]
            while packed:
                if self._member.eof:
                    self._member = zlib.decompressobj(_GZIP_OR_ZLIB)
                self._has_input = True
                unpacked += self._inflate(packed)
                packed = self._member.unused_data
        return bytes(unpacked)

    def finish(self) -> None:
        """Raise RequestFailed when the last member is incomplete."""
        if self._has_input and not self._member.eof:
            raise RequestFailed("broke off what it had packed")

    def _inflate(self, piece: bytes) -> bytes:
        try:
            part = self._member.decompress(piece, self._remaining_bytes + 1)
        except zlib.error as error:
            raise RequestFailed("sent what can't be unpacked") from error
        self._remaining_bytes -= len(part)
        if self._remaining_bytes < 0:
            raise ResponseTooLarge(f"unpacks to more than {self._limit_bytes:,} bytes")
        return part


def make_inflater(encoding: str, limit_bytes: int) -> Inflater | None:
    """Make the decompressor for a body with this Content-Encoding, if it needs one. Raises RequestFailed."""
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return None
    if encoding not in _PACKED:
        raise RequestFailed("packed its answer in a way that was not asked for")
    return Inflater(limit_bytes)


def inflate(packed: bytes, limit_bytes: int) -> bytes:
    """Decompress `packed`. Raises ResponseTooLarge, RequestFailed."""
    inflater = Inflater(limit_bytes)
    unpacked = inflater.feed(packed)
    inflater.finish()
    return unpacked
