"""A TCP proxy for a server, whose connections can be slow, cut, refused or swallowed.

The server may listen on a Unix socket, as the embedded servers do.
"""

import asyncio
import contextlib
import socket
import threading
from enum import StrEnum
from pathlib import Path
from typing import Any

_BLOCK_BYTES = 65_536


class Mode(StrEnum):
    """Treatment of connections."""

    OPEN = "open"
    #: Every block is delayed.
    SLOW = "slow"
    #: Present connections are reset, new ones work.
    RESET = "reset"
    #: Present connections are reset, new ones are refused.
    DOWN = "down"
    #: Connections stay open, new ones are accepted, and no data passes.
    BLACK_HOLE = "black hole"


class Proxy:
    """A proxy on a loopback port, in a thread of its own, for a Unix socket."""

    def __init__(self, target: Path, *, latency_s: float = 0.2) -> None:
        self._target = str(target)
        self._latency_s = latency_s
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._writers: set[asyncio.StreamWriter] = set()
        self._open: asyncio.Event = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._delay_s = 0.0
        self.port = 0

    def __enter__(self) -> "Proxy":
        self._thread.start()
        self._wait(self._listen())
        self._open.set()
        return self

    def __exit__(self, *_: object) -> None:
        self._wait(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def set_mode(self, mode: Mode) -> None:
        """Treat connections in this way from now on."""
        self._wait(self._set_mode(mode))

    def _wait(self, coroutine: Any) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(10)

    async def _set_mode(self, mode: Mode) -> None:
        self._delay_s = self._latency_s if mode is Mode.SLOW else 0.0
        if mode is Mode.BLACK_HOLE:
            self._open.clear()
        else:
            self._open.set()
        if mode in {Mode.RESET, Mode.DOWN}:
            self._reset_all()
        if mode is Mode.DOWN:
            self._unlisten()
        elif self._server is None:
            await self._listen()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    def _unlisten(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    def _reset_all(self) -> None:
        for writer in self._writers:
            with contextlib.suppress(OSError):
                # Closed at once with unread data, so that the other end sees a reset.
                writer.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0"
                )
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._open.wait()
        try:
            there, back = await asyncio.open_unix_connection(self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, back}
        try:
            await asyncio.gather(self._pass(reader, back), self._pass(there, writer))
        finally:
            self._writers -= {writer, back}

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while block := await reader.read(_BLOCK_BYTES):
                await self._open.wait()
                await asyncio.sleep(self._delay_s)
                writer.write(block)
                await writer.drain()
        writer.close()

    async def _end(self) -> None:
        self._unlisten()
        self._open.set()
        self._reset_all()
