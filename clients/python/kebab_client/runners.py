"""Runners of steps, sync and async, and the methods that a client of either kind has."""

import functools
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

import anyio
import httpx

from kebab_client.steps import Outcome, Pages, Pause, Request, Steps, with_retries

P = ParamSpec("P")
T = TypeVar("T")


class Runner:
    """Carries out steps and returns their results."""

    def __init__(self, http: httpx.Client, retries: int) -> None:
        self._http = http
        self._retries = retries

    def run(self, steps: Steps[T]) -> T:
        """Return the result of steps. Raises KebabError."""
        running, outcome = with_retries(steps, self._retries), None
        while True:
            try:
                wanted = running.send(outcome)
            except StopIteration as end:
                result: T = end.value
                return result
            outcome = self._carry_out(wanted)

    def rows(self, pages: Pages[T]) -> Iterator[T]:
        """Yield the rows of all pages."""
        cursor: str | None = None
        while True:
            found, cursor = self.run(pages(cursor))
            yield from found
            if cursor is None:
                return

    def _carry_out(self, wanted: Request | Pause) -> Outcome:
        if isinstance(wanted, Pause):
            time.sleep(wanted.seconds)
            return None
        try:
            return self._http.request(**wanted.arguments())
        except httpx.RequestError as error:
            return error


class AsyncRunner:
    """Carries out steps and returns their results, with asyncio or trio."""

    def __init__(self, http: httpx.AsyncClient, retries: int) -> None:
        self._http = http
        self._retries = retries

    async def run(self, steps: Steps[T]) -> T:
        """Return the result of steps. Raises KebabError."""
        running, outcome = with_retries(steps, self._retries), None
        while True:
            try:
                wanted = running.send(outcome)
            except StopIteration as end:
                result: T = end.value
                return result
            outcome = await self._carry_out(wanted)

    async def rows(self, pages: Pages[T]) -> AsyncIterator[T]:
        """Yield the rows of all pages."""
        cursor: str | None = None
        while True:
            found, cursor = await self.run(pages(cursor))
            for row in found:
                yield row
            if cursor is None:
                return

    async def _carry_out(self, wanted: Request | Pause) -> Outcome:
        if isinstance(wanted, Pause):
            await anyio.sleep(wanted.seconds)
            return None
        try:
            return await self._http.request(**wanted.arguments())
        except httpx.RequestError as error:
            return error


class Operation(Generic[P, T]):
    """A method made of steps: of a sync client it returns their result, of an async one it is awaited."""

    def __init__(self, build: Callable[Concatenate[Any, P], Steps[T]]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, client: Runner, owner: object) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncRunner, owner: object) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, client: None, owner: object) -> "Operation[P, T]": ...
    def __get__(self, client: Runner | AsyncRunner | None, owner: object) -> Any:
        """Return the method of a client."""
        if client is None:
            return self
        return _bind(self._build, client, client.run)


class Listing(Generic[P, T]):
    """A method made of pages: it returns an iterator of their rows, an async one of an async client."""

    def __init__(self, build: Callable[Concatenate[Any, P], Pages[T]]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, client: Runner, owner: object) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, client: AsyncRunner, owner: object) -> Callable[P, AsyncIterator[T]]: ...
    @overload
    def __get__(self, client: None, owner: object) -> "Listing[P, T]": ...
    def __get__(self, client: Runner | AsyncRunner | None, owner: object) -> Any:
        """Return the method of a client."""
        if client is None:
            return self
        return _bind(self._build, client, client.rows)


def _bind(build: Callable[..., Any], client: object, run: Callable[[Any], Any]) -> Callable[..., Any]:
    @functools.wraps(build)
    def method(*args: Any, **options: Any) -> Any:
        return run(build(client, *args, **options))

    return method
