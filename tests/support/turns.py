"""Turns of the tests of one machine: those that measure seconds run while no other does.

Two files among the temporary ones, the same for all processes that share a suite and for all suites of a
user: who wants the room alone keeps the gate shut while the others leave.
"""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Names the process whose turn it is to those that it starts.
_WHOSE = "TESTS_HAVE_THE_TURN_OF"
_PREFIX = f"kebab-tests-{os.getuid()}"


@contextmanager
def turn(*, is_alone: bool) -> Iterator[None]:
    """Wait for a turn, beside others or alone, and keep it for the length of a block.

    A suite that a test runs has that test's turn.
    """
    own = str(os.getpid())
    if os.environ.setdefault(_WHOSE, own) != own:
        yield
        return
    operation = fcntl.LOCK_EX if is_alone else fcntl.LOCK_SH
    with _locked("gate", fcntl.LOCK_EX) as gate, _locked("room", operation):
        fcntl.flock(gate, fcntl.LOCK_UN)
        yield


@contextmanager
def _locked(name: str, operation: int) -> Iterator[int]:
    path = Path(tempfile.gettempdir()) / f"{_PREFIX}.{name}"
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, operation)
        yield descriptor
    finally:
        os.close(descriptor)
