"""Whose call has a thread next, where several workspaces ask: one leaves a quarter of them to the others."""

from dataclasses import dataclass
from uuid import UUID

from django.conf import settings

from kebab.http.admission.fair_queue import Room, Turns


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """The turns that a call takes, and the name under which it does."""

    turns: Turns
    name: str


class Lanes:
    """The lanes of a process; calls that wait for models, which takes them long, have lanes of their own.

    For the thread of one event loop alone.
    """

    def __init__(self) -> None:
        self._quick, self._long = _turns(wait_s=5.0), _turns(wait_s=30.0)

    def of(self, workspace_id: UUID, *, is_long: bool) -> Lane:
        """Return the lane of a workspace's calls."""
        return Lane(turns=self._long if is_long else self._quick, name=str(workspace_id))


def _turns(*, wait_s: float) -> Turns:
    threads = settings.KEBAB_WEB_THREADS
    return Turns(Room(slots=threads, waiting=8 * threads, wait_s=wait_s))
