"""The program of the tests, and requests to it."""

from functools import partial
from typing import Any

from kebab.sandbox.process import Deadline, Request
from kebab.sandbox.program import Header, Limits, Program
from kebab.sandbox.worker import SandboxWorker

#: longer than any request takes
PATIENCE_S = 60.0


def program(**limits: int) -> Program:
    """Return the program with these limits."""
    return Program(module="tests.unit.kebab.sandbox.child", limits=Limits(**limits), libraries=())


def request(do: str, seconds: float = PATIENCE_S, *, content: bytes = b"", **header: Any) -> Request:
    """Return a request for the function `do`."""
    return Request(header={"do": do, **header}, content=content, start_deadline=partial(Deadline, seconds))


def ask(worker: SandboxWorker, do: str, seconds: float = PATIENCE_S, **header: Any) -> Header:
    """Return the reply of the function `do`."""
    return worker.ask(request(do, seconds, **header), next)
