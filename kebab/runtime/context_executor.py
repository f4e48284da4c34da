"""A thread pool whose tasks inherit the context: request or job, workspace, trace."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, ParamSpec, TypeVar

_Params = ParamSpec("_Params")
_Result = TypeVar("_Result")


class ContextExecutor(ThreadPoolExecutor):
    """An executor whose tasks run in the context of the code that submits them."""

    def submit(
        self, task: Callable[_Params, _Result], /, *args: _Params.args, **kwargs: _Params.kwargs
    ) -> Future[_Result]:
        """Submit `task`, to be run in a copy of the current context."""
        run: Any = copy_context().run
        return super().submit(run, task, *args, **kwargs)
