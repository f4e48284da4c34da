"""Which process started an embedded server: whether it belongs to a running stack or is an orphan."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from kebab.stack.paths import replace_text
from kebab.stack.supervisor.process_id import ProcessMark


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRecord:
    """A server and the process that started it and will stop it."""

    server: ProcessMark
    owner: ProcessMark

    def is_borrowable(self) -> bool:
        """Return whether the server runs and someone looks after it."""
        return self.server.is_alive() and self.owner.is_alive()

    def is_orphan(self) -> bool:
        """Return whether the server runs though its owner is gone."""
        return self.server.is_alive() and not self.owner.is_alive()


def write_record(path: Path, server_pid: int) -> None:
    """Write down that this process started the server."""
    server = ProcessMark.of(server_pid)
    if server is not None:
        record = ServerRecord(server=server, owner=ProcessMark.own())
        replace_text(path, json.dumps(asdict(record)))


def read_record(path: Path) -> ServerRecord | None:
    """Return what was written last; None when nothing readable was."""
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
        return ServerRecord(
            server=ProcessMark(**written["server"]),
            owner=ProcessMark(**written["owner"]),
        )
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
