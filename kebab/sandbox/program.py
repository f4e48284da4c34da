"""Program of a sandboxed process: its module, its limits, how it is started, and its messages.

Errors of the sandbox:

SandboxError
├── ChildDied           the sandboxed process ended, hung or ran out of memory on this request
└── SandboxUnavailable  no sandboxed process can be started: the machine's fault, not the request's

Messages are frames over a pipe, a JSON object as header, then raw bytes; never pickle. Layout: 4 bytes length
of the header, 8 bytes length of the body (big endian), header, body.
"""

import json
import os
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO, Final

import kebab

#: names of the operator's certificate authorities, for processes that talk to servers
_AUTHORITIES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Resource limits of one program, besides those that `kebab.sandbox.child` sets for all.

    None sets no limit. Limits above the memory of the idle process are set on Linux only, which tells it.
    """

    #: address space in total, and above that of the idle process
    address_space_bytes: int | None = None
    extra_address_space_bytes: int | None = None
    #: writable memory above that of the idle process
    extra_data_bytes: int | None = None
    #: processor time of the process, and of one request
    cpu_seconds: int | None = None
    request_cpu_seconds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A module that calls `kebab.sandbox.child.serve` when it is run, with its limits."""

    module: str
    limits: Limits
    #: the only packages that the module imports besides ours and the standard library, so that the process
    #: starts without `site`, which takes most of the time of a short program; None for all that are installed
    libraries: tuple[ModuleType, ...] | None = None

    def command(self) -> list[str]:
        """Return the command line of a child of this process."""
        options = json.dumps({"parent_pid": os.getpid(), "limits": asdict(self.limits)})
        flags = ["-P", "-s", "-B"] if self.libraries is None else ["-P", "-s", "-S", "-B"]
        return [sys.executable, *flags, "-m", self.module, options]

    def environment(self) -> dict[str, str]:
        """Return an environment without secrets, in case the process is exploited."""
        trusted = {name: path for name in _AUTHORITIES if (path := os.environ.get(name))}
        packages = (kebab, *(self.libraries or ()))
        roots = [str(Path(str(package.__file__)).resolve().parent.parent) for package in packages]
        return {
            **trusted,
            "PATH": os.defpath,
            "LANG": "C.UTF-8",
            "PYTHONPATH": os.pathsep.join(roots),
            "PYTHONUTF8": "1",
            "TOKENIZERS_PARALLELISM": "false",
            "OMP_NUM_THREADS": "1",
            "MALLOC_ARENA_MAX": "1",  # each thread of a library would reserve 64 MB of address space
        }


_listener: ContextVar[Callable[[], None] | None] = ContextVar("listener", default=None)


@contextmanager
def report_progress_to(listener: Callable[[], None]) -> Iterator[None]:
    """Call `listener` at each step that is reported inside the block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report_progress() -> None:
    """Report that a step of a long request is done, such as a page of a document."""
    listener = _listener.get()
    if listener is not None:
        listener()


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


#: reason of a child whose memory did not suffice
OUT_OF_MEMORY: Final = "it ran out of memory"


class SandboxError(Exception):
    """A sandboxed process gave no answer."""


class ChildDied(SandboxError):
    """The sandboxed process did not answer; `reason` is a message for people and logs.

    `detail` is the message of the error that the request failed with, if any; it may quote the content.
    `was_killed_from_outside` tells that a signal ended it which neither a request nor its parent sends.
    """

    def __init__(self, reason: str, detail: str = "", *, was_killed_from_outside: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail
        self.was_killed_from_outside = was_killed_from_outside


class SandboxUnavailable(SandboxError):
    """No sandboxed process can be started, or its owner was closed; try the same request again later."""
