"""Unpacking gzip and zlib under a limit: what comes out is never larger than was allowed."""

import zlib

from kebab.http_client.errors import AnswerTooLarge, RequestFailed

# Either format, told by its header.
_GZIP_OR_ZLIB = 47
# Behind each member zlib copies what is left of its input.
_SLICE_BYTES = 16 * 1024


class Inflater:
    """Unpacks what comes in pieces, one packed member after the other, up to `limit_bytes` in all."""

    def __init__(self, limit_bytes: int) -> None:
        self._room = limit_bytes
        self._limit = limit_bytes
        self._member = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._is_begun = False

    def feed(self, piece: bytes) -> bytes:
        """Return what `piece` unpacks to. Raises AnswerTooLarge, RequestFailed."""
        unpacked = bytearray()
        for at in range(0, len(piece), _SLICE_BYTES):
            packed = piece[at : at + _SLICE_BYTES]
            while packed:
                if self._member.eof:
                    self._member = zlib.decompressobj(_GZIP_OR_ZLIB)
                self._is_begun = True
                unpacked += self._inflate(packed)
                packed = self._member.unused_data
        return bytes(unpacked)

    def finish(self) -> None:
        """Raises RequestFailed when the last member has no end."""
        if self._is_begun and not self._member.eof:
            raise RequestFailed("broke off what it had packed")

    def _inflate(self, piece: bytes) -> bytes:
        try:
            part = self._member.decompress(piece, self._room + 1)
        except zlib.error as error:
            raise RequestFailed("sent what can't be unpacked") from error
        self._room -= len(part)
        if self._room < 0:
            raise AnswerTooLarge(f"unpacks to more than {self._limit:,} bytes")
        return part


def inflate(packed: bytes, limit_bytes: int) -> bytes:
    """Return what `packed` unpacks to. Raises AnswerTooLarge, RequestFailed."""
    inflater = Inflater(limit_bytes)
    unpacked = inflater.feed(packed)
    inflater.finish()
    return unpacked
