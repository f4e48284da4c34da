"""What a running stack writes down about itself. Only the lock proves that it runs."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from kebab.stack.paths import DataDirectory, replace_text
from kebab.stack.storage.file_locks import StackLock
from kebab.stack.supervisor.process_id import ProcessMark


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedProcess:
    """A process of the stack."""

    name: str
    mark: ProcessMark


@dataclass(frozen=True, slots=True, kw_only=True)
class StackState:
    """The processes of a running stack; `started_at` in ISO 8601, `url` empty when nothing is served."""

    node: str
    url: str
    started_at: str
    is_ready: bool
    supervisor: ProcessMark
    processes: tuple[NamedProcess, ...]


def write_state(path: Path, state: StackState) -> None:
    """Replace the state file."""
    replace_text(path, json.dumps(asdict(state), indent=1) + "\n")


def read_state(path: Path) -> StackState | None:
    """Return what was written last, perhaps by a stack that is gone; None when nothing readable was."""
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
        processes = tuple(
            NamedProcess(name=each["name"], mark=ProcessMark(**each["mark"])) for each in written["processes"]
        )
        supervisor = ProcessMark(**written["supervisor"])
        return StackState(**{**written, "processes": processes, "supervisor": supervisor})
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def running_state(data_dir: Path) -> StackState | None:
    """Return the state of the stack that runs on this data directory now; None when none does."""
    directory = DataDirectory(data_dir)
    if not stack_is_running(data_dir):
        return None
    state = read_state(directory.stack_state)
    return state if state is not None and state.supervisor.is_alive() else None


def stack_is_running(data_dir: Path) -> bool:
    """Return whether a process holds this data directory: `up`, or a verb that runs the servers for
    itself.
    """
    return StackLock(DataDirectory(data_dir).stack_lock).is_held()
