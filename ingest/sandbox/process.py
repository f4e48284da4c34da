"""Parent's side of one sandboxed process."""

import logging
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO

import ingest
from ingest.parsers.errors import ParserDied, SandboxUnavailable
from ingest.sandbox.frames import GOING_ON, FrameError, Header, HeaderReader, frame_start
from ingest.sandbox.types import DigestLimits
from search.corpus.content_ids import content_hash

logger = logging.getLogger(__name__)

START_SECONDS = 30.0
PIPE_PIECE_BYTES = 1024**2
#: standard error of one document that goes to the log; the rest is dropped
LOGGED_STDERR_BYTES = 4_096
#: exit statuses that the document may not have caused: signals sent by others
OUTSIDE_SIGNALS = (-signal.SIGKILL, -signal.SIGTERM)


class SandboxProcess:
    """A child process that digests one document at a time.

    It dies with the thread that constructed it (Linux ties it to the thread, not to the process),
    so construct it in the thread that uses it.

    Raises:
        SandboxUnavailable: the child does not start.
    """

    def __init__(self, limits: DigestLimits) -> None:
        self._limits = limits
        self._process = subprocess.Popen(
            _command(limits),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(),
            bufsize=0,
            cwd="/",
            start_new_session=True,
        )
        self._stdin, self._stdout, self._stderr = _pipes(self._process)
        self._selector = selectors.DefaultSelector()
        self._stderr_tail = bytearray()
        self._was_stopped = False
        for pipe in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(pipe.fileno(), False)
        self._selector.register(self._stdout, selectors.EVENT_READ, "stdout")
        self._selector.register(self._stderr, selectors.EVENT_READ, "stderr")
        self._await_start()

    @property
    def pid(self) -> int:
        """Return the process id of the child."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Return False once the child has ended for any reason."""
        return self._process.poll() is None

    @property
    def was_killed_from_outside(self) -> bool:
        """Return True when a signal ended the child that neither a parser nor this parent sends."""
        return not self._was_stopped and self._process.poll() in OUTSIDE_SIGNALS

    def exchange(self, header: Header, content: bytes) -> Generator[Header, None, None]:
        """Send one document and yield the frames of the answer; the caller stops at the last one.

        Raises:
            ParserDied: the child ended, sent an invalid answer or took too long; it is dead afterwards.
        """
        seconds = self._limits.seconds_for(len(content))
        outgoing = [memoryview(frame_start(header, len(content))), memoryview(content)]
        self._selector.register(self._stdin, selectors.EVENT_WRITE, "stdin")
        try:
            yield from self._transfer(outgoing, seconds)
        finally:
            if outgoing:
                self._selector.unregister(self._stdin)
            self._log_stderr(content)

    def stop(self) -> None:
        """Kill the child; any thread may call it, `exchange` then raises in its own thread."""
        self._was_stopped = True
        self._process.kill()

    def close(self) -> None:
        """Kill the child and close its pipes; only the thread that uses the child may call it."""
        self.stop()
        self._process.wait()
        self._selector.close()
        for pipe in (self._stdin, self._stdout, self._stderr):
            pipe.close()

    def _await_start(self) -> None:
        try:
            next(self._transfer([], START_SECONDS))
        except ParserDied as death:
            reported = self._stderr_tail.decode(errors="replace").strip()
            self.close()
            raise SandboxUnavailable(
                f"the parsing process did not start: {death.reason}; {reported}"
            ) from None

    def _transfer(self, outgoing: list[memoryview], seconds: float) -> Iterator[Header]:
        """Write and read as the pipes allow, so that neither side blocks on a full one."""
        reader = HeaderReader()
        deadline = _Deadline(seconds, self._limits)
        while True:
            ready = self._selector.select(deadline.seconds_left)
            if deadline.seconds_left <= 0:
                self.stop()
                raise ParserDied(f"it took over {round(deadline.seconds, 2):g} s")
            # standard output last, so that the rest is done when the caller gets a frame
            for key, _ in sorted(ready, key=lambda event: event[0].data):
                if key.data == "stdin":
                    self._write(outgoing)
                elif key.data == "stderr":
                    self._read_stderr()
                else:
                    yield from deadline.extend(self._read_stdout(reader))

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

    def _read_stdout(self, reader: HeaderReader) -> Iterator[Header]:
        received = os.read(self._stdout.fileno(), PIPE_PIECE_BYTES)
        if not received:
            raise ParserDied(self._exit_reason())
        try:
            yield from reader.feed(received)
        except FrameError as error:
            self.stop()
            raise ParserDied(f"it wrote what is not an answer: {error}") from error

    def _read_stderr(self) -> None:
        received = os.read(self._stderr.fileno(), PIPE_PIECE_BYTES)
        if not received:
            self._selector.unregister(self._stderr)
        self._stderr_tail = (self._stderr_tail + received)[-LOGGED_STDERR_BYTES:]

    def _log_stderr(self, content: bytes) -> None:
        if self._stderr_tail:
            text = self._stderr_tail.decode(errors="replace").strip()
            logger.warning("parsing process on content %s: %s", content_hash(content), text)
            self._stderr_tail.clear()

    def _exit_reason(self) -> str:
        code = self._process.wait()
        if code >= 0:
            return f"it ended with status {code}"
        return f"it crashed ({signal.Signals(-code).name})"


class _Deadline:
    """Deadline of a child; each step that it reports extends it."""

    def __init__(self, seconds: float, limits: DigestLimits) -> None:
        #: current limit on the child's total time
        self.seconds = seconds
        self._started_at = time.monotonic()
        self._limits = limits

    @property
    def seconds_left(self) -> float:
        """Return the seconds until the deadline."""
        return self._started_at + self.seconds - time.monotonic()

    def extend(self, headers: Iterator[Header]) -> Iterator[Header]:
        """Yield the headers, except reports of a step, which extend the deadline."""
        for header in headers:
            if header != GOING_ON:
                yield header
                continue
            wanted = time.monotonic() - self._started_at + self._limits.seconds_per_step
            self.seconds = max(self.seconds, min(wanted, self._limits.most_seconds))


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise ValueError(f"process {process.pid} was started without its three pipes")
    return process.stdin, process.stdout, process.stderr


def _command(limits: DigestLimits) -> list[str]:
    options = ["--parent", str(os.getpid()), "--memory-bytes", str(limits.memory_bytes)]
    return [sys.executable, "-P", "-s", "-B", "-m", "ingest.sandbox.child", *options]


def _environment() -> dict[str, str]:
    """Return an environment without secrets, in case a parser is exploited."""
    package_root = str(Path(ingest.__file__).resolve().parent.parent)
    return {
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "PYTHONPATH": package_root,
        "PYTHONUTF8": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "OMP_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "1",  # each thread of a library would reserve 64 MB of address space
    }
