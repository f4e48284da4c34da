"""Event loops for awaitables in tests."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from django.db import connection

Result = TypeVar("Result")


def run(awaited: Coroutine[Any, Any, Result]) -> Result:
    """Return the result of an awaitable, and raise what it raises.

    The thread in which Django's synchronous code runs beside a loop is the process's, and outlives the test:
    its connection does not, however the test ends.
    """

    async def running() -> Result:
        try:
            return await awaited
        finally:
            await sync_to_async(_let_go)()

    return asyncio.run(running())


def _let_go() -> None:
    connection.close()
