"""A local ssh host: asyncssh accepts one key and runs git's own upload-pack."""

import asyncio
import shlex
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import asyncssh
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat


def key_pair() -> tuple[str, str]:
    """Return a private key and its public one, as ssh writes them."""
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
    return private, key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


class SshHost:
    """Serves the machine's repositories to the owner of `public_key`."""

    def __init__(self, public_key: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._allowed = asyncssh.import_authorized_keys(public_key)
        self._server: asyncssh.SSHAcceptor | None = None
        self.port = 0
        self.commands: list[str] = []

    def start(self, port: int = 0) -> None:
        """Listen, with a new host key."""
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(port), self._loop).result()
        self.port = self._server.get_port()

    def stop(self) -> None:
        """Stop listening, and close all connections."""
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _listen(self, port: int) -> asyncssh.SSHAcceptor:
        return await asyncssh.listen(
            "127.0.0.1",
            port,
            server_host_keys=[asyncssh.generate_private_key("ssh-ed25519")],
            authorized_client_keys=self._allowed,
            process_factory=self._run,
            encoding=None,
        )

    async def _close(self) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.wait_for(asyncio.gather(*others, return_exceptions=True), timeout=10)

    async def _run(self, asked: asyncssh.SSHServerProcess[bytes]) -> None:
        self.commands.append(asked.command or "")
        program, path = shlex.split(asked.command or "")
        assert program == "git-upload-pack"
        ran = await asyncio.create_subprocess_exec(
            "git",
            "upload-pack",
            path,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        await asked.redirect(stdin=ran.stdin, stdout=ran.stdout, stderr=ran.stderr)
        await asked.stdout.drain()
        asked.exit(await ran.wait())
        await asked.wait_closed()


@contextmanager
def ssh_host(public_key: str, port: int = 0) -> Iterator[SshHost]:
    """Run a host for the length of a block."""
    host = SshHost(public_key)
    host.start(port)
    try:
        yield host
    finally:
        host.stop()
