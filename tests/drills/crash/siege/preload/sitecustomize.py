"""Replacement for `time.sleep` in the interpreters of a node whose clock jumps.

`time.sleep` waits for a moment of the monotonic clock, which libfaketime 0.9.10 takes for one of the faked
clock when it is told to leave the monotonic one alone: EINVAL.
"""

import select
import time


def _sleep(seconds: float) -> None:
    select.select((), (), (), seconds)


time.sleep = _sleep
