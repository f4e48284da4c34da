"""Ownership records of embedded servers, which tell a running stack's server from an orphan."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from kebab.runtime.durable_files import replace_text
from kebab.stack.supervisor.process_id import ProcessIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRecord:
    """A server and the process that started it and will stop it."""

    server: ProcessIdentity
    owner: ProcessIdentity

    def is_borrowable(self) -> bool:
        """Return whether the server and its owner run."""
        return self.server.is_alive() and self.owner.is_alive()

    def is_orphan(self) -> bool:
        """Return whether the server runs though its owner has ended."""
        return self.server.is_alive() and not self.owner.is_alive()


def write_record(path: Path, server_pid: int) -> None:
    """Record that this process started the server."""
    server = ProcessIdentity.of(server_pid)
    if server is not None:
        record = ServerRecord(server=server, owner=ProcessIdentity.own())
        replace_text(path, json.dumps(asdict(record)))


def read_record(path: Path) -> ServerRecord | None:
    """Return the last record; None if there is no readable one."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return ServerRecord(
            server=ProcessIdentity(**document["server"]),
            owner=ProcessIdentity(**document["owner"]),
        )
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
