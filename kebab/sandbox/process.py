"""Parent's side of one sandboxed process."""

import os
import selectors
import signal
import subprocess
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import PurePath
from typing import IO, cast

from kebab.sandbox.program import (
    PROGRESS,
    ChildDied,
    FrameError,
    Header,
    Program,
    SandboxUnavailable,
    frame_start,
    take_frames,
)


class Deadline:
    """Wall-clock limit from now on; each step that the process reports extends it, up to `most_seconds`."""

    def __init__(self, seconds: float, *, seconds_per_step: float = 0.0, most_seconds: float = 0.0) -> None:
        #: current limit on the total time
        self.seconds = seconds
        self._started_at = time.monotonic()
        self._seconds_per_step = seconds_per_step
        self._most_seconds = most_seconds

    @property
    def seconds_left(self) -> float:
        """Return the seconds until the deadline."""
        return self._started_at + self.seconds - time.monotonic()

    def extend(self) -> None:
        """Allow `seconds_per_step` from now."""
        wanted = time.monotonic() - self._started_at + self._seconds_per_step
        self.seconds = max(self.seconds, min(wanted, self._most_seconds))


START_SECONDS = 30.0
PIPE_PIECE_BYTES = 1024**2
#: longest time between two calls of `on_wait`
WAIT_PERIOD_S = 0.25
#: last bytes of standard error that are passed on; the rest is dropped
STDERR_BYTES = 4_096
#: exit statuses that the request may not have caused: signals sent by others
OUTSIDE_SIGNALS = (-signal.SIGKILL, -signal.SIGTERM)


def _do_nothing() -> None:
    """Do nothing: the default `on_wait`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request to a sandboxed process."""

    header: Header
    content: bytes = b""
    #: starts the clock of one attempt
    start_deadline: Callable[[], Deadline]
    #: called with the process's standard error after an attempt, if any; it may quote the content
    log_stderr: Callable[[str], None] = lambda text: None
    #: called about four times a second during the exchange; an exception from it ends the exchange, but the
    #: child only when its owner closes it
    on_wait: Callable[[], None] = _do_nothing


def run_once(
    program: Program, request: Request, *, pass_fds: Sequence[int] = ()
) -> Generator[Header, None, None]:
    """Yield the frames that a process of its own answers; deadline and `on_wait` apply to its start, too.

    Close the generator: this ends the process. The child inherits `pass_fds` under the same numbers.

    Raises:
        ChildDied: the child ended, sent an invalid answer or took too long.
        SandboxUnavailable: the child does not start.
    """
    deadline = request.start_deadline()
    child = SandboxProcess(program, deadline, pass_fds=pass_fds, on_wait=request.on_wait)
    with closing(child) as process:
        yield from process.exchange(request, deadline)


class SandboxProcess:
    """A child process that answers one request at a time.

    It dies with the thread that constructed it (Linux ties it to the thread, not to the process),
    so construct it in the thread that uses it.

    Raises:
        SandboxUnavailable: the child does not start.
    """

    def __init__(
        self,
        program: Program,
        start_deadline: Deadline | None = None,
        *,
        pass_fds: Sequence[int] = (),
        on_wait: Callable[[], None] = _do_nothing,
    ) -> None:
        try:
            self._process = subprocess.Popen(
                program.command(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=program.environment(),
                bufsize=0,
                cwd="/",
                pass_fds=pass_fds,
                start_new_session=True,
            )
        except OSError as error:
            raise SandboxUnavailable(f"the process of {program.module} did not start: {error}") from error
        self.pid = self._process.pid
        pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._stdin, self._stdout, self._stderr = cast(tuple[IO[bytes], IO[bytes], IO[bytes]], pipes)
        self._selector = selectors.DefaultSelector()
        self._stderr_tail = bytearray()
        self._was_stopped = False
        for pipe in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(pipe.fileno(), False)
        self._selector.register(self._stdout, selectors.EVENT_READ, "stdout")
        self._selector.register(self._stderr, selectors.EVENT_READ, "stderr")
        self._await_start(program.module, start_deadline or Deadline(START_SECONDS), on_wait)

    @property
    def is_alive(self) -> bool:
        """Return False once the child has ended for any reason."""
        return self._process.poll() is None

    def exchange(self, request: Request, deadline: Deadline) -> Generator[Header, None, None]:
        """Send one request and yield the frames of the answer; the caller stops at the last one.

        Raises:
            ChildDied: the child failed, ended, sent an invalid answer or took too long.
            SandboxUnavailable: a process that the child needs can't be started.
        """
        content = request.content
        outgoing = [memoryview(frame_start(request.header, len(content))), memoryview(content)]
        self._selector.register(self._stdin, selectors.EVENT_WRITE, "stdin")
        try:
            for reply in self._transfer(outgoing, deadline, request.on_wait):
                if "died" in reply:
                    raise ChildDied(str(reply["died"]), str(reply.get("detail", "")))
                if "unavailable" in reply:
                    raise SandboxUnavailable(str(reply["unavailable"]))
                yield reply
        finally:
            if outgoing:
                self._selector.unregister(self._stdin)
            if self._stderr_tail:
                request.log_stderr(self._take_stderr())

    def stop(self) -> None:
        """Kill the child and what it has started; any thread may call it.

        `exchange` then raises in its own thread.
        """
        self._was_stopped = True
        if self._process.returncode is None:  # else its id may be another's
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Kill the child and close its pipes; only the thread that uses the child may call it."""
        self.stop()
        self._process.wait()
        self._selector.close()
        for pipe in (self._stdin, self._stdout, self._stderr):
            pipe.close()

    def _await_start(self, module: str, deadline: Deadline, on_wait: Callable[[], None]) -> None:
        try:
            next(self._transfer([], deadline, on_wait))
        except ChildDied as death:
            message = f"the process of {module} did not start: {death.reason}; {self._take_stderr()}"
            self.close()
            raise SandboxUnavailable(message) from None
        except BaseException:
            self.close()
            raise

    def _transfer(
        self, outgoing: list[memoryview], deadline: Deadline, on_wait: Callable[[], None]
    ) -> Iterator[Header]:
        """Write and read as the pipes allow, so that neither side blocks on a full one."""
        received = bytearray()
        waited_at = time.monotonic()
        while True:
            ready = self._selector.select(min(deadline.seconds_left, WAIT_PERIOD_S))
            # Also while frames keep coming, which may be no progress for the caller.
            if time.monotonic() - waited_at >= WAIT_PERIOD_S:
                on_wait()
                waited_at = time.monotonic()
            if deadline.seconds_left <= 0:
                raise self._overdue(deadline)
            # standard output last, so that the rest is done when the caller gets a frame
            for key, _ in sorted(ready, key=lambda event: event[0].data):
                if key.data == "stdin":
                    self._write(outgoing)
                elif key.data == "stderr":
                    self._read_stderr()
                else:
                    for reply in self._read_stdout(received, deadline, on_wait):
                        if reply == PROGRESS:
                            deadline.extend()
                        else:
                            yield reply

    def _write(self, outgoing: list[memoryview]) -> None:
        try:
            written = os.write(self._stdin.fileno(), outgoing[0][:PIPE_PIECE_BYTES]) if outgoing[0] else 0
        except BlockingIOError:
            return
        except BrokenPipeError:
            outgoing[:] = [memoryview(b"")]  # the end of standard output will report the exit
            written = 0
        outgoing[0] = outgoing[0][written:]
        while outgoing and not outgoing[0]:
            outgoing.pop(0)
        if not outgoing:
            self._selector.unregister(self._stdin)

    def _read_stdout(
        self, received: bytearray, deadline: Deadline, on_wait: Callable[[], None]
    ) -> Iterator[Header]:
        piece = os.read(self._stdout.fileno(), PIPE_PIECE_BYTES)
        if not piece:
            raise self._death(deadline, on_wait)
        received += piece
        try:
            yield from take_frames(received)
        except FrameError as error:
            self.stop()
            raise ChildDied(f"it wrote what is not an answer: {error}") from error

    def _read_stderr(self) -> None:
        received = os.read(self._stderr.fileno(), PIPE_PIECE_BYTES)
        if not received:
            self._selector.unregister(self._stderr)
        self._stderr_tail = (self._stderr_tail + received)[-STDERR_BYTES:]

    def _take_stderr(self) -> str:
        text = self._stderr_tail.decode(errors="replace").strip()
        self._stderr_tail.clear()
        return text

    def _death(self, deadline: Deadline, on_wait: Callable[[], None]) -> ChildDied:
        """Return the end of a child that has closed its standard output; it may live on."""
        while (left_s := deadline.seconds_left) > 0:
            try:
                code = self._process.wait(min(left_s, WAIT_PERIOD_S))
            except subprocess.TimeoutExpired:
                on_wait()
            else:
                return _exit_reason(code, was_stopped=self._was_stopped)
        return self._overdue(deadline)

    def _overdue(self, deadline: Deadline) -> ChildDied:
        self.stop()
        return ChildDied(f"it took over {round(deadline.seconds, 2):g} s")


def _exit_reason(code: int, *, was_stopped: bool) -> ChildDied:
    if code >= 0:
        return ChildDied(f"it ended with status {code}")
    if code == -signal.SIGXCPU:
        return ChildDied("it used up its processor time (SIGXCPU)")
    is_of_others = code in OUTSIDE_SIGNALS and not was_stopped
    return ChildDied(f"it crashed ({signal.Signals(-code).name})", was_killed_from_outside=is_of_others)


_FRAMES = 6


def failure_location(error: BaseException) -> str:
    """Return the error's type and its stack, innermost first: `ValueError at pdf.py:12, table.py:9`.

    The error's message is left out, because it may quote the file.
    """
    frames = traceback.extract_tb(error.__traceback__)[: -_FRAMES - 1 : -1]
    places = ", ".join(f"{PurePath(frame.filename).name}:{frame.lineno}" for frame in frames)
    return f"{type(error).__name__} at {places}"
