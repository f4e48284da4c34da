"""Encoder of PNG files from rows of pixels (PNG specification, third edition, sections 5 and 10)."""

import struct
import zlib

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_TRUE_COLOUR, _BITS = 2, 8
_BYTES_PER_PIXEL = 3
#: Fast; a page of text is as small as at the default, since its rows are mostly white.
_LEVEL = 4


def png_of(pixels: bytes, *, width: int, height: int, stride: int) -> bytes:
    """Return the PNG of `height` rows of `stride` bytes, each beginning with `width` of red, green, blue."""
    row = _BYTES_PER_PIXEL * width
    # each row begins with its filter type: 0, none
    rows = b"".join(b"\0" + pixels[start : start + row] for start in range(0, height * stride, stride))
    header = struct.pack(">IIBBBBB", width, height, _BITS, _TRUE_COLOUR, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, _LEVEL)), (b"IEND", b""))
    return _SIGNATURE + b"".join(_chunk(name, content) for name, content in chunks)


def _chunk(name: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(name + content)
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", checksum)
