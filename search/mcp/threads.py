"""Threads that run the synchronous core, so that no call blocks the event loop."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from django.conf import settings
from django.db import connection

from kebab.http.admission.fair_queue import Capacity, FairQueue, Usage
from kebab.identity.caller import Access
from kebab.runtime.connection_limits import REFUSAL_S
from search.mcp.call_context import Call, CallStopped


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """The queue that a call waits in, and its name there."""

    queue: FairQueue
    name: str


class Lanes:
    """The lanes of a process; long calls, which wait for models, have a queue of their own.

    Not thread-safe: use it only in the thread of one event loop.
    """

    def __init__(self, usage: Usage | None = None) -> None:
        """Take the use of threads that the calls are charged to."""
        self._quick, self._long = (_build_queue(usage, is_long=is_long) for is_long in (False, True))

    def of(self, share: str, *, is_long: bool) -> Lane:
        """Return the lane of the calls of a caller, by `Caller.share`."""
        return Lane(queue=self._long if is_long else self._quick, name=share)


def _build_queue(usage: Usage | None, *, is_long: bool) -> FairQueue:
    threads, wait_s = settings.KEBAB_WEB_THREADS, 30.0 if is_long else 5.0
    limits = Capacity(
        slots=threads, waiting=8 * threads, wait_s=wait_s, computes=not is_long, refusal_s=REFUSAL_S
    )
    return FairQueue(limits, usage)


# A client that has gone may block the thread that reports progress no longer than this.
_REPORT_TIMEOUT_S = 5.0
# Authentication and cancellation checks take milliseconds.
_ADMISSION_THREADS = 4

Answer = TypeVar("Answer")
Report = Callable[[float, float, str], Awaitable[None]]


async def run_in_thread(work: Callable[[], Answer]) -> Answer:
    """Run `work` in a thread that closes its database connection afterwards, and return the result.

    Calls have other threads, so that authentication and cancellation never wait for them.
    """
    return await asyncio.wrap_future(_submit(_admission_threads(), work))


async def answer_in_thread(
    admit: Callable[[], Sequence[Access]],
    work: Callable[[Call], Answer],
    report: Report,
    *,
    is_long: bool = False,
    lane: Lane | None = None,
) -> Answer:
    """Run `work` in a thread with the accesses that `admit` returns; stop it once nobody awaits the answer.

    Calls that wait for others, such as models, are `is_long` and have threads of their own. With a `lane` the
    call first waits for its turn, which it holds until the thread is done, even if cancelled. Raises Refused.
    """
    stop = threading.Event()
    loop = asyncio.get_running_loop()

    async def send_report(done: int, total: int, message: str) -> None:
        await report(done, total, message)

    def report_progress(done: int, total: int, message: str) -> None:
        sending = asyncio.run_coroutine_threadsafe(send_report(done, total, message), loop)
        try:
            sending.result(_REPORT_TIMEOUT_S)
        except TimeoutError:
            sending.cancel()

    def run_call() -> Answer:
        access, *others = admit()
        return work(Call(access=access, others=tuple(others), report_progress=report_progress, stop=stop))

    if lane is not None:
        await lane.queue.acquire(lane.name)
    answering = _submit(_call_threads(is_long), run_call)
    if lane is not None:
        answering.add_done_callback(_release_callback(lane, loop))
    try:
        return await asyncio.wrap_future(answering)
    except CallStopped as stopped:
        raise asyncio.CancelledError from stopped
    finally:
        stop.set()


def _release_callback(lane: Lane, loop: asyncio.AbstractEventLoop) -> "Callable[[Future[Any]], None]":
    def release(answering: "Future[Any]") -> None:
        with suppress(RuntimeError):  # the loop is closed, and nobody waits for a turn
            loop.call_soon_threadsafe(lane.queue.release, lane.name)

    return release


def _submit(threads: ThreadPoolExecutor, work: Callable[[], Answer]) -> "Future[Answer]":
    return threads.submit(copy_context().run, _run_and_close_connection, work)


def _run_and_close_connection(work: Callable[[], Answer]) -> Answer:
    try:
        return work()
    finally:
        connection.close()


@cache
def _call_threads(is_long: bool) -> ThreadPoolExecutor:
    """Return the thread pool for calls; a call cancelled before it starts is never run."""
    name = "mcp-long" if is_long else "mcp"
    return ThreadPoolExecutor(settings.KEBAB_WEB_THREADS, thread_name_prefix=name)


@cache
def _admission_threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_ADMISSION_THREADS, thread_name_prefix="mcp-door")
