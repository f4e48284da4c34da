"""Threads that know for whom they work: for which request or job, in which workspace, within which trace."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, ParamSpec, TypeVar

_Given = ParamSpec("_Given")
_Made = TypeVar("_Made")


class ContextThreads(ThreadPoolExecutor):
    """An executor whose tasks run in the context of whoever submits them."""

    def submit(  # type: ignore[override]  # the base's first argument has a name of its own
        self, task: Callable[_Given, _Made], /, *args: _Given.args, **kwargs: _Given.kwargs
    ) -> Future[_Made]:
        """Have a thread do `task`."""
        run: Any = copy_context().run
        return super().submit(run, task, *args, **kwargs)
