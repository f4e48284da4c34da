"""The base class of the embedded servers: start, borrowing, takeover of orphans, stop."""

import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Self

from kebab.runtime.durable_files import hold_exclusively
from kebab.stack.errors import ServerFailed
from kebab.stack.paths import DataDirectory, ensure_runtime_directory
from kebab.stack.servers.os_user import read_record, write_record
from kebab.stack.supervisor.child import Child, ChildPlan, log_tail
from kebab.stack.supervisor.process_id import ProcessIdentity

# Postgres may have to replay much WAL after a crash.
START_LIMIT_S = 300.0
STOP_LIMIT_S = 30.0
_ORPHAN_PATIENCE_S = 10.0
_POLL_S = 0.02


class EmbeddedServer(ABC):
    """An embedded server on a private socket.

    `start` and `stop` may be called from any thread that lives as long as the server. A server that another
    living process started on the same data directory is borrowed: used, and never stopped by us.
    """

    #: The base name of the log file, the lock and the record.
    name: str

    def __init__(self, data_dir: Path, *, runtime_dir: str = "") -> None:
        self.directory = DataDirectory(data_dir)
        self.runtime_dir = runtime_dir
        self._child: Child | None = None
        self._borrowed: ProcessIdentity | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def is_borrowed(self) -> bool:
        """Return whether the server belongs to another process."""
        return self._borrowed is not None

    @property
    def pid(self) -> int | None:
        """Return the pid of the running server."""
        if self._borrowed is not None:
            return self._borrowed.pid
        return None if self._child is None else self._child.pid

    @property
    def log(self) -> Path:
        """Return the server's log file."""
        return self.directory.logs / f"{self.name}.log"

    def start(self, *, should_stop: Callable[[], bool] = lambda: False) -> None:
        """Start the server, unless it runs, and wait until it answers.

        Raises:
            ServerMissing: there is no binary.
            ServerFailed: it ended while it started, or did not answer within five minutes.
            PathRefused: a folder or socket path cannot be used.
        """
        if not self.is_alive():
            self.spawn()
        try:
            self._wait_for_answer(should_stop)
        except BaseException:
            self.stop()
            raise

    def spawn(self) -> None:
        """Start the process without waiting; an orphan is terminated first, a living owner's is borrowed."""
        self.directory.ensure()
        ensure_runtime_directory(self.directory.path, self.runtime_dir)
        with hold_exclusively(self.directory.run / f"{self.name}.lock"):
            record = read_record(self._record)
            if record is not None and record.is_borrowable():
                self._borrowed = record.server
                return
            self._borrowed = None
            if record is not None and record.is_orphan():
                record.server.terminate(self.stop_signals, grace_s=_ORPHAN_PATIENCE_S)
            self.repair()
            self._child = Child(self.plan())
            write_record(self._record, self._child.spawn())

    def is_alive(self) -> bool:
        """Return whether the process runs."""
        if self._borrowed is not None:
            return self._borrowed.is_alive()
        return self._child is not None and self._child.is_alive()

    def exit_status(self) -> int | None:
        """Return our process's exit status (negative: a signal); None if it runs or is borrowed."""
        if self._borrowed is not None or self._child is None:
            return None
        return self._child.exit_status()

    def ask_to_stop(self) -> None:
        """Ask our process to stop; do nothing to a borrowed one."""
        if self._child is not None:
            self._child.ask_to_stop()

    def wait(self, limit_s: float | None = None) -> bool:
        """Wait for the end of our process; return False if it still runs after the limit."""
        return self._child is None or self._child.wait(limit_s)

    def kill(self) -> None:
        """Kill our process at once; committed data survives."""
        if self._child is not None:
            self._child.kill()

    def stop(self) -> None:
        """Stop our process cleanly, by force after 30 seconds; do nothing to a borrowed one."""
        self._borrowed = None
        self.ask_to_stop()
        if not self.wait(STOP_LIMIT_S):
            self.kill()
        self._child = None

    @property
    @abstractmethod
    def stop_signals(self) -> tuple[signal.Signals, ...]:
        """Return the signals that end the server, the gentlest first."""

    @abstractmethod
    def plan(self) -> ChildPlan:
        """Create what the process needs, and return the plan of its start."""

    @abstractmethod
    def is_answering(self) -> bool:
        """Return whether the server accepts requests."""

    def set_up(self) -> None:  # noqa: B027 - optional
        """Create what has to exist inside the server, once it answers."""

    def repair(self) -> bool:
        """Repair what kept the server from starting; return False if there was nothing to repair."""
        return False

    @property
    def _record(self) -> Path:
        return self.directory.run / f"{self.name}.json"

    def _wait_for_answer(self, should_stop: Callable[[], bool]) -> None:
        deadline = time.monotonic() + START_LIMIT_S
        while not self.is_answering():
            if should_stop():
                return
            if not self.is_alive() and self.repair():
                self.spawn()
            self._check_start(deadline)
            time.sleep(_POLL_S)
        self.set_up()

    def _check_start(self, deadline: float) -> None:
        if not self.is_alive():
            raise ServerFailed(
                f"{self.name} ended while it started (status {self.exit_status()}); {self.log} ends:\n"
                f"{log_tail(self.log)}"
            )
        if time.monotonic() > deadline:
            raise ServerFailed(f"{self.name} did not answer within {START_LIMIT_S:.0f} s; see {self.log}.")
