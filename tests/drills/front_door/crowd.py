"""Command that sends one request again and again by many clients, until its input ends.

`python -m tests.drills.front_door.crowd PORT SOURCE CLIENTS`; the request is the input's first line, in
Base64. A client that is refused waits for a tenth of a second. The clients leave the processors to the server
when both want them, as clients at other machines would.
"""

import asyncio
import base64
import contextlib
import os
import re
import sys
from pathlib import Path

_PAUSE_S = 0.1
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


def yield_processors() -> None:
    """Lower the priority of this process, also among sessions, by which Linux may share processors."""
    os.setsid()
    os.nice(19)
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text("19")


async def main(port: int, source: str, clients: int) -> None:
    """Send the request by all clients until the input ends."""
    request = base64.b64decode(sys.stdin.readline())
    sending = [asyncio.create_task(_repeat(port, source, request)) for _ in range(clients)]
    await asyncio.to_thread(sys.stdin.read)
    for each in sending:
        each.cancel()
    await asyncio.gather(*sending, return_exceptions=True)


async def _repeat(port: int, source: str, request: bytes) -> None:
    while True:
        with contextlib.suppress(OSError, EOFError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
            try:
                await _repeat_on(reader, writer, request)
            finally:
                writer.close()
        await asyncio.sleep(_PAUSE_S)


async def _repeat_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> None:
    """Send requests on one connection until it ends."""
    while True:
        writer.write(request)
        await writer.drain()
        head = await reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if length is None:  # in pieces: read what is there, and connect anew
            await reader.read(65_536)
            return
        await reader.readexactly(int(length[1]))
        if not head.startswith(b"HTTP/1.1 2"):
            await asyncio.sleep(_PAUSE_S)


if __name__ == "__main__":
    yield_processors()
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
