"""Program of a sandboxed process: its module, its limits and how it is started."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType

import kebab

#: names of the operator's certificate authorities, for processes that talk to servers
_AUTHORITIES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Resource limits of one program, besides those that `kebab.sandbox.child` sets for all.

    None sets no limit. Limits above the memory of the idle process are set on Linux only, which tells it.
    """

    #: address space in total, and above that of the idle process
    address_space_bytes: int | None = None
    extra_address_space_bytes: int | None = None
    #: writable memory above that of the idle process
    extra_data_bytes: int | None = None
    #: processor time of the process, and of one request
    cpu_seconds: int | None = None
    request_cpu_seconds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A module that calls `kebab.sandbox.child.serve` when it is run, with its limits."""

    module: str
    limits: Limits
    #: the only packages that the module imports besides ours and the standard library, so that the process
    #: starts without `site`, which takes most of the time of a short program; None for all that are installed
    libraries: tuple[ModuleType, ...] | None = None

    def command(self) -> list[str]:
        """Return the command line of a child of this process."""
        options = json.dumps({"parent_pid": os.getpid(), "limits": asdict(self.limits)})
        flags = ["-P", "-s", "-B"] if self.libraries is None else ["-P", "-s", "-S", "-B"]
        return [sys.executable, *flags, "-m", self.module, options]

    def environment(self) -> dict[str, str]:
        """Return an environment without secrets, in case the process is exploited."""
        trusted = {name: path for name in _AUTHORITIES if (path := os.environ.get(name))}
        packages = (kebab, *(self.libraries or ()))
        roots = [str(Path(str(package.__file__)).resolve().parent.parent) for package in packages]
        return {
            **trusted,
            "PATH": os.defpath,
            "LANG": "C.UTF-8",
            "PYTHONPATH": os.pathsep.join(roots),
            "PYTHONUTF8": "1",
            "TOKENIZERS_PARALLELISM": "false",
            "OMP_NUM_THREADS": "1",
            "MALLOC_ARENA_MAX": "1",  # each thread of a library would reserve 64 MB of address space
        }


_listener: ContextVar[Callable[[], None] | None] = ContextVar("listener", default=None)


@contextmanager
def report_progress_to(listener: Callable[[], None]) -> Iterator[None]:
    """Call `listener` at each step that is reported inside the block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report_progress() -> None:
    """Report that a step of a long request is done, such as a page of a document."""
    listener = _listener.get()
    if listener is not None:
        listener()
