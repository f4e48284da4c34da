"""Concurrent calls, each in a thread with a database connection of its own."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

from django.db import connection

from kebab.tenancy.current_workspace import acting_everywhere

Result = TypeVar("Result")


def at_once(calls: Sequence[Callable[[], Result]]) -> list[Result]:
    """Start all calls together and return their results in order; raises the first error."""
    barrier = Barrier(len(calls), timeout=30)

    @acting_everywhere()
    def run(call: Callable[[], Result]) -> Result:
        try:
            barrier.wait()
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as executor:
        return [future.result() for future in [executor.submit(run, call) for call in calls]]


def until_blocked() -> None:
    """Return once another connection to this database waits for a lock. Raises AssertionError after 30 s."""
    deadline = time.monotonic() + 30
    with connection.cursor() as cursor:
        while time.monotonic() < deadline:
            cursor.execute("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")
            if cursor.fetchone()[0]:
                return
            time.sleep(0.01)
    raise AssertionError("Nobody waits for a lock.")
