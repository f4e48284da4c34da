"""Runs things at the same time, each in a thread with a database connection of its own."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

from django.db import connection

Result = TypeVar("Result")


def at_once(calls: Sequence[Callable[[], Result]]) -> list[Result]:
    """Start all calls together and give what they return, in order; raises what the first failing raised."""
    barrier = Barrier(len(calls), timeout=30)

    def run(call: Callable[[], Result]) -> Result:
        try:
            barrier.wait()
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as executor:
        return [future.result() for future in [executor.submit(run, call) for call in calls]]
