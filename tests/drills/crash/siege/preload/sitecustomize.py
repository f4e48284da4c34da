"""Loaded by the interpreters of a node whose clock jumps: sleeping by another way than the one that breaks.

`time.sleep` waits for a moment of the steady clock, which libfaketime 0.9.10 takes for one of the faked clock
when it is told to leave the steady one alone: EINVAL.
"""

import select
import time


def _sleep(seconds: float) -> None:
    select.select((), (), (), seconds)


time.sleep = _sleep
