"""Length-prefixed frames over a pipe: a JSON object as header, then raw bytes. Never pickle.

Layout: 4 bytes length of the header, 8 bytes length of the body (big endian), header, body.
"""

import json
import struct
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

PREFIX: Final = struct.Struct(">IQ")
MAX_HEADER_BYTES: Final = 256 * 1024**2
MAX_BODY_BYTES: Final = 1024**3

Header = dict[str, Any]

#: key of a reply's header under which either side of the pipe finds the bytes of its body
BODY: Final = "body"

#: message that the child sends between the steps of a slow request
PROGRESS: Final[Header] = {"progress": True}


class FrameError(Exception):
    """The bytes on the pipe are not valid frames."""


def frame_start(header: Header, body_bytes: int = 0) -> bytes:
    """Return prefix and header of a frame; the body follows."""
    encoded = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    return PREFIX.pack(len(encoded), body_bytes) + encoded


def encode_reply(reply: Header) -> Iterator[bytes]:
    """Yield the pieces of the frame of a reply, whose body, if any, is in its header under BODY."""
    body = reply.get(BODY, b"")
    yield frame_start({name: value for name, value in reply.items() if name != BODY}, len(body))
    yield body


def read_frame(pipe: BinaryIO) -> tuple[Header, bytes] | None:
    """Return the next frame of a blocking pipe, None at its end.

    Raises:
        FrameError: the pipe ended within a frame, or a length is over its limit.
    """
    prefix = pipe.read(PREFIX.size)
    if not prefix:
        return None
    header_bytes, body_bytes = _parse_lengths(prefix)
    encoded = pipe.read(header_bytes)
    body = pipe.read(body_bytes)
    if len(encoded) != header_bytes or len(body) != body_bytes:
        raise FrameError("the pipe ended within a frame")
    return json.loads(encoded), body


def take_frames(received: bytearray) -> Iterator[Header]:
    """Yield the headers of frames that are complete in the buffer, and remove them from it.

    The body of a frame, unless it is empty, is in its header under BODY.

    Raises:
        FrameError: a length is over its limit, or a header is not a JSON object.
    """
    while len(received) >= PREFIX.size:
        header_bytes, body_bytes = _parse_lengths(received[: PREFIX.size])
        start = PREFIX.size + header_bytes
        end = start + body_bytes
        if len(received) < end:
            return
        encoded, body = bytes(received[PREFIX.size : start]), bytes(received[start:end])
        del received[:end]
        yield _parse_header(encoded) | ({BODY: body} if body else {})


def _parse_header(encoded: bytes) -> Header:
    try:
        header = json.loads(encoded)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"a frame's header is not JSON: {error}") from error
    if not isinstance(header, dict):
        raise FrameError(f"a frame's header is not a JSON object but of type {type(header).__name__}")
    return header


def _parse_lengths(prefix: bytes | bytearray) -> tuple[int, int]:
    if len(prefix) != PREFIX.size:
        raise FrameError("the pipe ended within a frame")
    header_bytes, body_bytes = PREFIX.unpack(prefix)
    if header_bytes > MAX_HEADER_BYTES or body_bytes > MAX_BODY_BYTES:
        raise FrameError(f"a frame of {header_bytes} + {body_bytes} bytes is over the limits")
    return header_bytes, body_bytes
