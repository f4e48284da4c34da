"""Sandboxed process that is kept warm between requests."""

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TypeVar

from kebab.sandbox.process import Request, SandboxProcess
from kebab.sandbox.program import ChildDied, Header, Program, SandboxUnavailable

T = TypeVar("T")


class SandboxWorker:
    """Owner of one sandboxed process, started when first needed and again whenever it has died.

    It is for one thread; the process ends with the thread, with `close` and with the program.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._process: SandboxProcess | None = None
        self._owner_pid = os.getpid()
        #: whether further requests are refused
        self.is_aborted = False

    @property
    def child_pid(self) -> int | None:
        """Return the process id of the child, None without one."""
        return None if self._process is None else self._process.pid

    def ask(self, request: Request, read: Callable[[Iterator[Header]], T]) -> T:
        """Return the result of `read`, which is called with the frames of the answer and stops at the last.

        The request is repeated once when the child was killed from outside. The child may be hostile by now:
        an answer that `read` fails on counts as its death.

        Raises:
            ChildDied: the child died of the request; the next one gets a new child.
            SandboxUnavailable: no sandboxed process can be started; the request is not the cause.
        """
        try:
            return self._exchange(request, read)
        except ChildDied as death:
            self.close()
            if death.was_killed_from_outside:
                return self._exchange(request, read)
            raise

    def close(self) -> None:
        """Stop the child, if there is one."""
        process, self._process = self._process, None
        if process is not None and self._owner_pid == os.getpid():
            process.close()

    def abort(self) -> None:
        """Stop the request that another thread has sent, and refuse further ones."""
        self.is_aborted = True
        process = self._process  # read once: the other thread may set it to None meanwhile
        if process is not None:
            process.stop()

    def _exchange(self, request: Request, read: Callable[[Iterator[Header]], T]) -> T:
        process = self._ready_process(request.on_wait)
        with closing(process.exchange(request, request.start_deadline())) as replies:
            try:
                return read(replies)
            except (LookupError, TypeError, ValueError) as error:
                raise ChildDied("it sent a malformed answer") from error

    def _ready_process(self, on_wait: Callable[[], None]) -> SandboxProcess:
        if self.is_aborted:
            raise SandboxUnavailable("this process was aborted")
        if self._owner_pid != os.getpid():
            # after a fork the child belongs to the parent process, whose messages would mix with ours
            self._process, self._owner_pid = None, os.getpid()
        if self._process is not None and not self._process.is_alive:
            self.close()
        if self._process is None:
            self._process = SandboxProcess(self._program, on_wait=on_wait)
        if self.is_aborted:  # while the process was starting
            self._process.stop()
        return self._process
