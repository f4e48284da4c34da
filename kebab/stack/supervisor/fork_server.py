"""A process with the application imported, which forks the stack's processes: they share its memory.

The supervisor forks it once, before it has threads, since a fork copies locks that other threads hold. It has
no threads itself. It ends with the supervisor, and what it has forked ends with it.
"""

import atexit
import contextlib
import gc
import json
import logging
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NoReturn

from setproctitle import setproctitle

from kebab.runtime.lifeline import die_with_parent

logger = logging.getLogger(__name__)

_REPLY_LIMIT_S: Final = 10.0
_MESSAGE_BYTES: Final = 65_536

#: Runs a command line, and raises SystemExit if it fails.
RunCommand = Callable[[list[str]], None]


def preload() -> None:
    """Import what the forked processes use."""
    import_module("kebab.urls")
    import_module("kebab.asgi")
    import_module("celery.bin.celery")
    import_module("granian.server")
    from kebab.celery import app

    app.loader.import_default_modules()


class ForkServer:
    """The fork server, as the supervisor sees it. Only the thread that made it may use it."""

    def __init__(self, run_command: RunCommand) -> None:
        """Fork it, with all that this process has imported. Raises OSError."""
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._statuses: dict[int, int] = {}
        self._living: set[int] = set()
        gc.collect()
        gc.freeze()  # or the next collection would write to every page
        parent_pid = os.getpid()
        pid = os.fork()
        if pid == 0:
            _serve_and_exit(theirs, parent_pid, run_command)
        theirs.close()
        self._socket.settimeout(_REPLY_LIMIT_S)
        self.pid: Final = pid
        self._is_alive = True

    def spawn(self, arguments: tuple[str, ...], *, log: Path, nice: int) -> int | None:
        """Start `kebab ARGUMENTS` in a process of its own; return its pid, None if this server has ended."""
        request = {"arguments": arguments, "log": str(log), "nice": nice}
        if not self._send(request):
            return None
        while (reply := self._receive(wait=True)) is not None:
            if "started" in reply:
                pid = int(reply["started"])
                self._living.add(pid)
                return pid
        return None

    def exit_status(self, pid: int) -> int | None:
        """Return the exit status (negative: a signal) of a forked process; None while it runs."""
        while self._receive(wait=False) is not None:
            pass
        return self._statuses.get(pid)

    def wait(self, pid: int, limit_s: float | None) -> bool:
        """Wait for the end of a forked process; return False if it still runs after the limit."""
        while self.exit_status(pid) is None:
            if not select.select([self._socket], [], [], limit_s)[0]:
                return False
        return True

    def send_signal(self, pid: int, number: int, *, to_group: bool = False) -> None:
        """Signal a forked process, or its process group, unless it has ended."""
        self._send({"signal": int(number), "pid": pid, "to_group": to_group})

    def close(self) -> None:
        """End the fork server, and what it has forked."""
        if self._is_alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self._note_end()
        self._socket.close()

    def _send(self, message: Mapping[str, Any]) -> bool:
        if not self._is_alive:
            return False
        try:
            self._socket.send(json.dumps(message).encode())
        except OSError:
            self._note_end()
            return False
        return True

    def _receive(self, *, wait: bool) -> dict[str, Any] | None:
        """Return the next message; None without one."""
        if not self._is_alive or not (wait or select.select([self._socket], [], [], 0)[0]):
            return None
        try:
            content = self._socket.recv(_MESSAGE_BYTES)
        except OSError as error:
            logger.error("the fork server does not answer: %s", error)
            content = b""
        if not content:
            self._note_end()
            return None
        message: dict[str, Any] = json.loads(content)
        if "ended" in message:
            self._living.discard(message["ended"])
            self._statuses[message["ended"]] = message["status"]
        return message

    def _note_end(self) -> None:
        """Note that the fork server has ended, and with it what it had forked."""
        self._is_alive = False
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        self._statuses.update(dict.fromkeys(self._living, -signal.SIGKILL))
        self._living.clear()


def _serve_and_exit(ours: socket.socket, parent_pid: int, run_command: RunCommand) -> NoReturn:
    """Serve in the new process, which must never return into the stack of its parent."""
    status = 1
    try:
        die_with_parent(signal.SIGKILL, parent_pid=parent_pid)
        os.setsid()
        kept = ours.fileno()
        setproctitle("kebab fork server")
        # Locks of the data directory among them: they are the supervisor's alone.
        os.closerange(3, kept)
        os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX"))
        status = _Loop(ours, run_command).run()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        logger.exception("the fork server ends")
    finally:
        _finish(status)
    raise AssertionError("unreachable")


class _Loop:
    """The loop of the fork server."""

    def __init__(self, ours: socket.socket, run_command: RunCommand) -> None:
        self._socket = ours
        self._run_command = run_command
        self._wakeup, wakeup = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)

    def run(self) -> int:
        """Serve until the supervisor hangs up; return the exit status, of the command in a forked process."""
        while True:
            readable, _, _ = select.select([self._socket.fileno(), self._wakeup], [], [])
            if self._wakeup in readable:
                os.read(self._wakeup, 1_024)
                self._reap()
            if self._socket.fileno() in readable:
                content = self._socket.recv(_MESSAGE_BYTES)
                if not content:
                    return 0
                request = json.loads(content)
                if "signal" in request:
                    _signal(request)
                elif self._fork() == 0:
                    _become_command(self._socket, request)
                    self._run_command(sys.argv)
                    return 0

    def _fork(self) -> int:
        parent_pid = os.getpid()
        pid = os.fork()
        if pid == 0:
            die_with_parent(signal.SIGKILL, parent_pid=parent_pid)
            signal.set_wakeup_fd(-1)
        else:
            self._send({"started": pid})
        return pid

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._send({"ended": pid, "status": os.waitstatus_to_exitcode(status)})

    def _send(self, message: Mapping[str, Any]) -> None:
        self._socket.send(json.dumps(message).encode())


def _signal(request: Mapping[str, Any]) -> None:
    # Only we reap it, so its pid can't be another process's yet.
    with contextlib.suppress(ProcessLookupError):
        if request["to_group"]:
            os.killpg(request["pid"], request["signal"])
        else:
            os.kill(request["pid"], request["signal"])


def _become_command(ours: socket.socket, request: Mapping[str, Any]) -> None:
    """Make this process that of a command: its session, streams, title and arguments."""
    ours.close()
    os.setsid()
    os.nice(request["nice"])
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.close(log)
    os.close(nothing)
    sys.argv = ["kebab", *request["arguments"]]
    setproctitle(" ".join(sys.argv))


def _finish(status: int) -> NoReturn:
    """End this process as the interpreter would, without the frames of its parent."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    with contextlib.suppress(BaseException):
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(status)
