"""A search-and-worker node on a host of its own: `kebab up` with remote servers."""

import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import apsw
import psutil

from kebab.stack.paths import DataDirectory
from kebab.stack.supervisor.child import ChildPlan, launch_command
from tests.drills.hosts.network import BACK, FRONT, Host
from tests.support.stack import MANAGE, Stack

_PORT = 8000
_BUSY_MS = 5_000
_COMMAND_LIMIT_S = 90.0


class Node(Stack):
    """A stack whose processes run in a host's namespace. `blobs` is the folder that all nodes share."""

    def __init__(
        self, name: str, number: int, data_dir: Path, blobs: Path, settings: Mapping[str, str]
    ) -> None:
        self.name = name
        self.host = Host(name, number)
        self.host.join(FRONT)
        self.host.join(BACK)
        self.address = self.host.address(FRONT)
        own = {
            "KEBAB_NODE_ID": f"node-{name}",
            "KEBAB_HOST": self.address,
            "KEBAB_PORT": str(_PORT),
            "KEBAB_ALLOWED_HOSTS": f"{self.address},127.0.0.1",
        }
        super().__init__(data_dir, **own, **settings)
        data_dir.mkdir(mode=0o711)
        DataDirectory(data_dir).blobs.symlink_to(blobs)

    @property
    def url(self) -> str:
        """Return the address for clients."""
        return f"http://{self.address}:{_PORT}"

    def start(self, *arguments: str, **streams: object) -> "subprocess.Popen[bytes]":
        """Start a command on its host; it ends with this process."""
        plan = ChildPlan(
            name=arguments[0],
            command=(sys.executable, str(MANAGE), *arguments),
            log=Path("/dev/null"),
            death_signal=signal.SIGTERM,
        )
        command = self.host.inside(launch_command(plan))
        return subprocess.Popen(command, env=self.environment, **streams)

    def run(self, *arguments: str, limit_s: float = _COMMAND_LIMIT_S) -> "subprocess.CompletedProcess[str]":
        """Run a command on its host until it ends."""
        command = self.host.inside([sys.executable, str(MANAGE), *arguments])
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=limit_s, check=False
        )

    def mirror_seq(self, workspace_id: str) -> int:
        """Return the applied change number of its mirror, read from the file: no request triggers a sync."""
        folder = DataDirectory(self.data_dir).mirrors / workspace_id
        generation = folder / (folder / "CURRENT").read_text().strip()
        connection = apsw.Connection(str(generation), flags=apsw.SQLITE_OPEN_READONLY)
        connection.set_busy_timeout(_BUSY_MS)
        try:
            row = connection.execute("SELECT value FROM meta WHERE key = 'applied_seq'").fetchone()
            return 0 if row is None else int(row[0])
        finally:
            connection.close()

    def workers(self) -> list[psutil.Process]:
        """Return the processes that run its jobs, including parsers and embedders."""
        mains = [psutil.Process(pid) for name, pid in self.pids().items() if name in {"worker", "embedder"}]
        return [*mains, *(child for main in mains for child in main.children(recursive=True))]
