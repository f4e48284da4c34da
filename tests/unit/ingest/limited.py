"""What tests of limited processes look at."""

import threading
import time

import psutil

MARKDOWN = b"---\ntags: [a, b]\n---\n# Title\n\nSome text.\n"


def wait_until(is_true, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, "it did not happen in time"
        threading.Event().wait(0.01)


def is_running(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
