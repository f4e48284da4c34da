"""A background thread for long tasks, one by one, so that the follower goes on with other mirrors."""

import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

from django.db import connection

_Result = TypeVar("_Result")


class BackgroundTasks(Generic[_Result]):
    """One worker thread with at most one task per workspace; used by a single other thread."""

    def __init__(self, name: str) -> None:
        self._threads = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._tasks: dict[uuid.UUID, Future[_Result]] = {}

    def __contains__(self, workspace_id: uuid.UUID) -> bool:
        return workspace_id in self._tasks

    @property
    def is_idle(self) -> bool:
        """Return whether no task is pending or uncollected."""
        return not self._tasks

    def submit(self, workspace_id: uuid.UUID, task: Callable[[], _Result]) -> None:
        """Queue `task` for a workspace that has no other task."""
        self._tasks[workspace_id] = self._threads.submit(_with_own_connection, task)

    def take_finished(self) -> list[tuple[uuid.UUID, Future[_Result]]]:
        """Return and forget the finished tasks."""
        done = [(workspace_id, task) for workspace_id, task in self._tasks.items() if task.done()]
        for workspace_id, _ in done:
            del self._tasks[workspace_id]
        return done

    def close(self) -> None:
        """Cancel queued tasks; a running one goes on to its end."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _with_own_connection(task: Callable[[], _Result]) -> _Result:
    try:
        return task()
    finally:
        connection.close()
