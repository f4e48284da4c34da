"""Child's side of the sandbox, which sets the limits and answers requests.

It imports only the standard library, and little of it, because some programs answer a single request and
their start takes most of the time.
"""

import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import BinaryIO

from kebab.runtime.lifeline import die_with_parent
from kebab.sandbox.program import (
    OUT_OF_MEMORY,
    PROGRESS,
    Header,
    SandboxUnavailable,
    encode_reply,
    read_frame,
    report_progress_to,
)

OPEN_FILES = 64

#: returns the frames that answer a request, each as its header, with its body under BODY; MemoryError ends
#: the process, other errors only the request
Handler = Callable[[Header, bytes], Iterable[Header]]


def serve(handler: Handler) -> None:
    """Answer requests until standard input ends; call this as the main program of a child.

    The process ends with its parent.
    """
    options = json.loads(sys.argv[1])
    die_with_parent(signal.SIGKILL, parent_pid=options["parent_pid"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, replies = sys.stdin.buffer, _private_stdout()
    _limit_resources(options["limits"])
    _send(replies, {"ready": os.getpid()})
    while (frame := read_frame(requests)) is not None:
        _limit_request_cpu(options["limits"]["request_cpu_seconds"])
        with report_progress_to(partial(_send, replies, PROGRESS)):
            for reply in answer(handler, *frame):
                _send(replies, reply)
        del frame


def answer(handler: Handler, header: Header, content: bytes) -> Iterator[Header]:
    """Yield the frames of the handler, then a frame with the reason if it failed."""
    try:
        yield from handler(header, content)
    except SandboxUnavailable as error:
        yield {"unavailable": str(error)}
    except MemoryError:
        yield {"died": OUT_OF_MEMORY}
        raise SystemExit(1) from None  # the heap is fragmented
    except Exception as error:  # noqa: BLE001  the process must survive for the next request
        from kebab.sandbox.process import failure_location  # slow to import, and seldom needed

        sys.stderr.write(f"request failed: {failure_location(error)}\n")
        sys.stderr.flush()
        yield {"died": f"it failed with {type(error).__name__}", "detail": str(error)[:200]}


def _private_stdout() -> BinaryIO:
    """Reserve standard output for frames: output of libraries goes to standard error."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return replies


def _send(pipe: BinaryIO, reply: Header) -> None:
    pipe.writelines(encode_reply(reply))
    pipe.flush()


def _limit_resources(limits: Mapping[str, int | None]) -> None:
    """Set the limits of the program, and disable core files, writes to files and more than OPEN_FILES."""
    _lower_limit(resource.RLIMIT_CORE, 0)
    _lower_limit(resource.RLIMIT_FSIZE, 0)
    _lower_limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    _lower_limit(resource.RLIMIT_CPU, limits["cpu_seconds"])
    _lower_limit(resource.RLIMIT_AS, limits["address_space_bytes"])
    if os.path.exists("/proc/self/statm"):  # noqa: PTH110  pathlib is slow to import
        with open("/proc/self/statm") as statm:  # noqa: PTH123
            pages = [int(field) for field in statm.read().split()]
        _lower_limit(resource.RLIMIT_AS, limits["extra_address_space_bytes"], above_pages=pages[0])
        _lower_limit(resource.RLIMIT_DATA, limits["extra_data_bytes"], above_pages=pages[5])


def _lower_limit(kind: int, most: int | None, *, above_pages: int = 0) -> None:
    """Lower a limit for good; None, and a limit that is lower already, change nothing."""
    if most is not None:
        _, hard = resource.getrlimit(kind)
        most += above_pages * resource.getpagesize()
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))


def _limit_request_cpu(seconds: int | None) -> None:
    """Limit the processor time left to `seconds`; the kernel counts from the start of the process."""
    if seconds is not None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + 1 + seconds, hard))
