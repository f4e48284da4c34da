"""The state file of a running stack. Only the lock proves that it runs."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from kebab.runtime.durable_files import replace_text
from kebab.stack.paths import DataDirectory
from kebab.stack.storage.stack_lock import StackLock
from kebab.stack.supervisor.process_id import ProcessIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedProcess:
    """A process of the stack."""

    name: str
    mark: ProcessIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class StackState:
    """The processes of a running stack; `started_at` in ISO 8601, `url` empty without a web process."""

    node: str
    url: str
    started_at: str
    is_ready: bool
    supervisor: ProcessIdentity
    processes: tuple[NamedProcess, ...]


def write_state(path: Path, state: StackState) -> None:
    """Replace the state file."""
    replace_text(path, json.dumps(asdict(state), indent=1) + "\n")


def read_state(path: Path) -> StackState | None:
    """Return the last written state, perhaps of a stack that has ended; None if there is no readable one."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        processes = tuple(
            NamedProcess(name=each["name"], mark=ProcessIdentity(**each["mark"]))
            for each in document["processes"]
        )
        supervisor = ProcessIdentity(**document["supervisor"])
        return StackState(**{**document, "processes": processes, "supervisor": supervisor})
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def running_state(data_dir: Path) -> StackState | None:
    """Return the state of the stack that runs on this data directory; None when none does."""
    directory = DataDirectory(data_dir)
    if not stack_is_running(data_dir):
        return None
    state = read_state(directory.stack_state)
    return state if state is not None and state.supervisor.is_alive() else None


def stack_is_running(data_dir: Path) -> bool:
    """Return whether a process holds this data directory: `up`, or a command with servers of its own."""
    return StackLock(DataDirectory(data_dir).stack_lock).is_held()
