"""Program of the sandboxed process that runs a connector program and passes its lines on.

Run as `python -m ingest.connectors.records.program.child`, by `ingest.connectors.records.program.reader`.
"""

import os
import select
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import IO, Final

from kebab.runtime import lifeline
from kebab.sandbox.child import serve
from kebab.sandbox.frames import Header

MAX_LINE_BYTES: Final = 64 * 1024**2
_PIECE_BYTES: Final = 1024**2
_WAIT_S: Final = 0.5


def handle(header: Header, content: bytes) -> Iterator[Header]:
    """Run a command with the content as its input; yield its lines, and frames while it is silent."""
    tie = [sys.executable, lifeline.__file__, "--signal", "9", "--parent", str(os.getpid()), "--"]
    environment = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    with subprocess.Popen(
        [*tie, *header["command"]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        cwd="/",
        bufsize=0,
    ) as process:
        assert process.stdin is not None  # noqa: S101  # for the type checker, as below
        assert process.stdout is not None  # noqa: S101
        # Beside the reading: a program may print before it reads.
        threading.Thread(target=_send, args=(process.stdin, content), daemon=True).start()
        yield from _lines(process.stdout)
        yield {"status": process.wait()}


def _send(pipe: IO[bytes], content: bytes) -> None:
    try:
        with pipe:
            pipe.write(content)
    except OSError:  # it does not read
        return


def _lines(pipe: IO[bytes]) -> Iterator[Header]:
    received = bytearray()
    while True:
        if not select.select([pipe], [], [], _WAIT_S)[0]:
            yield {"is_silent": True}
            continue
        piece = os.read(pipe.fileno(), _PIECE_BYTES)
        received += piece
        if len(received) > MAX_LINE_BYTES + _PIECE_BYTES:
            raise ValueError(f"a line has more than {MAX_LINE_BYTES:,} bytes")
        if piece and b"\n" not in piece:
            continue
        lines = received.split(b"\n")
        received = bytearray() if not piece else lines.pop()
        for line in filter(bytes.strip, map(bytes, lines)):
            yield {"line": line.decode(errors="replace")}
        if not piece:
            return


if __name__ == "__main__":
    serve(handle)
