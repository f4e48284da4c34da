"""Calls run in threads: the core is synchronous, and the loop that serves all must not wait for one."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache, partial
from typing import TypeVar

from django.conf import settings
from django.db import connection

from kebab.people.access import Access
from search.mcp.calls import Call, CallStopped

# Longer than this a client that has gone may not hold up the thread that tells it how far its call is.
_TELLING_LIMIT_S = 5.0

Answer = TypeVar("Answer")
Report = Callable[[float, float, str], Awaitable[None]]


async def in_thread(work: Callable[[], Answer], *, is_long: bool = False) -> Answer:
    """Give what `work` gives, run in a thread that then lets its database connection go.

    What waits for others, models for example, `is_long`, and has threads of its own.
    """
    run = partial(copy_context().run, _letting_go, work)
    return await asyncio.get_running_loop().run_in_executor(_threads(is_long), run)


async def answer_in_thread(
    admit: Callable[[], Access], work: Callable[[Call], Answer], report: Report, *, is_long: bool = False
) -> Answer:
    """Give what `work` answers whom `admit` lets in. It is told to stop when nobody waits any more."""
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

    try:
        return await in_thread(answered, is_long=is_long)
    except CallStopped as stopped:
        raise asyncio.CancelledError from stopped
    finally:
        stop.set()


async def _reported(report: Report, done: int, total: int, message: str) -> None:
    await report(done, total, message)


def _letting_go(work: Callable[[], Answer]) -> Answer:
    try:
        return work()
    finally:
        connection.close()


@cache
def _threads(is_long: bool) -> ThreadPoolExecutor:
    """Give the threads: a call that was given up before it began is never run."""
    name = "mcp-long" if is_long else "mcp"
    return ThreadPoolExecutor(settings.KEBAB_WEB_THREADS, thread_name_prefix=name)
