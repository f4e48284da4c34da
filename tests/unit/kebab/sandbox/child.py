"""A sandboxed process that does what its request says."""

import os
import resource
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from kebab.sandbox.child import serve
from kebab.sandbox.program import Header, SandboxUnavailable, report_progress

#: the first free descriptor, to which the sandbox moves its standard output
REPLIES_FD = 3
LIMITS = ("CORE", "FSIZE", "NOFILE", "CPU", "AS", "DATA")


def describe(header: Header) -> Header:
    """Return the surroundings of this process."""
    limits = {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}")) for name in LIMITS}
    return {"environment": dict(os.environ), "cwd": str(Path.cwd()), "limits": limits, "sid": os.getsid(0)}


def read_file(header: Header) -> Header:
    """Return the content of an inherited file."""
    with os.fdopen(header["fd"], "rb") as file:
        return {"text": file.read().decode()}


def write_file(header: Header) -> Header:
    """Write a file, which is not allowed."""
    Path(header["path"]).write_text("words")
    return {}


def print_words(header: Header) -> Header:
    """Print to standard output, as a library may."""
    print("some words", flush=True)  # noqa: T201
    return {}


def fail(header: Header) -> Header:
    """Raise an error that quotes the content."""
    raise ValueError("zanzibar")


def eat_memory(header: Header) -> Header:
    """Allocate memory until there is none."""
    eaten = []
    while True:
        eaten.append(bytearray(8_000_000))


def spin(header: Header) -> Header:
    """Use the processor for ever."""
    while True:
        pass


def hang(header: Header) -> Header:
    """Never return."""
    time.sleep(3_600)
    return {}


def start_process(header: Header) -> Header:
    """Start a process that never ends, and return its id."""
    return {"pid": subprocess.Popen(["/bin/sleep", "3600"]).pid}


def hang_without_pipe(header: Header) -> Header:
    """Close the pipe of replies, and never return."""
    os.close(REPLIES_FD)
    return hang(header)


def babble(header: Header) -> Header:
    """Write malformed frames."""
    os.write(REPLIES_FD, b"words" * 10)
    return hang(header)


def advance(header: Header) -> Header:
    """Report steps, and take longer than a single one may."""
    for _ in range(header["steps"]):
        time.sleep(0.02)
        report_progress()
    return {"steps": header["steps"]}


def advance_for_ever(header: Header) -> Header:
    """Report steps without end."""
    while True:
        report_progress()


def crash(header: Header) -> Header:
    """End by a signal that this process sends itself."""
    os.kill(os.getpid(), signal.SIGSEGV)
    return {}


def be_killed_once(header: Header) -> Header:
    """End by SIGKILL unless the mark exists, which this creates."""
    mark = Path(header["mark"])
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"pid": os.getpid()}


def miss_a_process(header: Header) -> Header:
    """Raise the error of a process that can't be started."""
    raise SandboxUnavailable("no process")


def measure(header: Header) -> Header:
    """Return the number of bytes of the content, and as many bytes."""
    return {"size": header["size"], "text": "x" * header["size"]}


def handle(header: Header, content: bytes) -> Iterator[Header]:
    """Call the function of this module that the request names."""
    yield globals()[header["do"]]({**header, "size": len(content)})


if __name__ == "__main__":
    serve(handle)
