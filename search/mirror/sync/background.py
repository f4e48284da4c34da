"""What takes long is done beside the follower, one thing after the other: all other mirrors go on."""

import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

from django.db import connection

_Made = TypeVar("_Made")


class Aside(Generic[_Made]):
    """One thread, asked and looked at by another, for one thing a workspace at a time."""

    def __init__(self, name: str) -> None:
        self._threads = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._asked: dict[uuid.UUID, Future[_Made]] = {}

    def __contains__(self, workspace_id: uuid.UUID) -> bool:
        return workspace_id in self._asked

    @property
    def is_idle(self) -> bool:
        """Return whether nothing is asked for that was not given yet."""
        return not self._asked

    def ask(self, workspace_id: uuid.UUID, task: Callable[[], _Made]) -> None:
        """Have `task` done for a workspace, for which nothing else is asked now."""
        self._asked[workspace_id] = self._threads.submit(_with_own_connection, task)

    def ended(self) -> list[tuple[uuid.UUID, Future[_Made]]]:
        """Return what has come to an end since the last time."""
        done = [(workspace_id, task) for workspace_id, task in self._asked.items() if task.done()]
        for workspace_id, _ in done:
            del self._asked[workspace_id]
        return done

    def close(self) -> None:
        """Begin nothing more; what is under way goes on to its end."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _with_own_connection(task: Callable[[], _Made]) -> _Made:
    try:
        return task()
    finally:
        connection.close()
