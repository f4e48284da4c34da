"""Calls run in threads: the core is synchronous, and the loop that serves all must not wait for one."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import cache
from typing import Any, TypeVar

from django.conf import settings
from django.db import connection

from kebab.people.access.caller import Access
from search.mcp.call_context import Call, CallStopped
from search.mcp.fair_threads import Lane

# Longer than this a client that has gone may not hold up the thread that tells it how far its call is.
_TELLING_LIMIT_S = 5.0
# What is asked before and beside a call takes milliseconds.
_DOOR_THREADS = 4

Answer = TypeVar("Answer")
Report = Callable[[float, float, str], Awaitable[None]]


async def in_thread(work: Callable[[], Answer]) -> Answer:
    """Return what `work` gives, run in a thread that then lets its database connection go.

    Calls have other threads: whose token is good, and what is given up, is found out whatever they wait for.
    """
    return await asyncio.wrap_future(_run_in(_door_threads(), work))


async def answer_in_thread(
    admit: Callable[[], Access],
    work: Callable[[Call], Answer],
    report: Report,
    *,
    is_long: bool = False,
    lane: Lane | None = None,
) -> Answer:
    """Return what `work` answers whom `admit` lets in. It is told to stop when nobody waits any more.

    What waits for others, models for example, `is_long`, and has threads of its own. In a `lane` it waits its
    turn first, which ends when the thread is done, whoever still waits for it. Raises Refused.
    """
    stop = threading.Event()
    loop = asyncio.get_running_loop()

    def tell(done: int, total: int, message: str) -> None:
        telling = asyncio.run_coroutine_threadsafe(_reported(report, done, total, message), loop)
        try:
            telling.result(_TELLING_LIMIT_S)
        except TimeoutError:
            telling.cancel()

    def answered() -> Answer:
        return work(Call(access=admit(), tell=tell, stop=stop))

    if lane is not None:
        await lane.turns.take(lane.name)
    answering = _run_in(_threads(is_long), answered)
    if lane is not None:
        answering.add_done_callback(_giving_back(lane, loop))
    try:
        return await asyncio.wrap_future(answering)
    except CallStopped as stopped:
        raise asyncio.CancelledError from stopped
    finally:
        stop.set()


async def _reported(report: Report, done: int, total: int, message: str) -> None:
    await report(done, total, message)


def _giving_back(lane: Lane, loop: asyncio.AbstractEventLoop) -> "Callable[[Future[Any]], None]":
    def give_back(answering: "Future[Any]") -> None:
        with suppress(RuntimeError):  # the loop has ended, and nobody waits for a turn
            loop.call_soon_threadsafe(lane.turns.give_back, lane.name)

    return give_back


def _run_in(threads: ThreadPoolExecutor, work: Callable[[], Answer]) -> "Future[Answer]":
    return threads.submit(copy_context().run, _letting_go, work)


def _letting_go(work: Callable[[], Answer]) -> Answer:
    try:
        return work()
    finally:
        connection.close()


@cache
def _threads(is_long: bool) -> ThreadPoolExecutor:
    """Return the threads: a call that was given up before it began is never run."""
    name = "mcp-long" if is_long else "mcp"
    return ThreadPoolExecutor(settings.KEBAB_WEB_THREADS, thread_name_prefix=name)


@cache
def _door_threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_DOOR_THREADS, thread_name_prefix="mcp-door")
