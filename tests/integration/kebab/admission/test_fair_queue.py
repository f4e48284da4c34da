import asyncio
from contextlib import suppress

import pytest

from kebab.http.admission.fair_queue import Capacity, ClientGone, FairQueue, Overloaded

pytestmark = pytest.mark.anyio
ROOM = Capacity(slots=4, waiting=6, wait_s=5.0)


class Crowd:
    """Requests for slots; each keeps its slot until `finish`."""

    def __init__(self, capacity: Capacity = ROOM) -> None:
        self.turns = FairQueue(capacity)
        self.served: list[str] = []
        self.refused: list[tuple[str, bool]] = []
        self._tasks: list[asyncio.Task] = []

    async def ask(self, *names: str) -> None:
        for name in names:
            self._tasks.append(asyncio.create_task(self._one(name)))
            await asyncio.sleep(0)

    async def finish(self, *names: str) -> None:
        for name in names:
            self.turns.release(name)
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    async def _one(self, name: str) -> None:
        try:
            await self.turns.acquire(name)
        except Overloaded as refused:
            self.refused.append((name, refused.is_workspace_busy))
        else:
            self.served.append(name)

    async def settle(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)

    async def leave(self) -> None:
        for task in self._tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def outcome_of(asking, giving_back=""):
    """Return the served and the refused workspaces after these requests and releases."""

    async def run():
        crowd = Crowd()
        await crowd.ask(*asking)
        await crowd.finish(*giving_back)
        await crowd.settle()
        found = (list(crowd.served), list(crowd.refused))
        await crowd.leave()
        assert crowd.turns.n_waiting == 0
        return found

    return asyncio.run(run())


#: Who asks, who is served, who is refused and whether by their own doing.
SCENES = [
    ("one workspace leaves a quarter of the slots to others", "aaaab", "aaab", []),
    (
        "a full queue refuses the workspace that fills it, not a newcomer",
        "aaabaaaaaac",
        "aaab",
        [("a", True)],
    ),
    ("a full queue refuses one more of the longest", "aaabaaaaaaa", "aaab", [("a", True)]),
    ("a workspace alone is refused for the load, not for its own doing", "aaaaaaaaaa", "aaa", [("a", False)]),
]


def test_slots_are_lent_and_refused_by_workspace(subtests):
    for name, asking, served, refused in SCENES:
        with subtests.test(scene=name):
            assert outcome_of(asking) == (list(served), refused)


def test_slots_go_round_the_workspaces_that_wait():
    served, refused = outcome_of("aaabaaabc", "aab")
    assert served[:4] == ["a", "a", "a", "b"]
    assert sorted(served[4:]) == ["a", "b", "c"]
    assert refused == []


async def test_waiting_too_long_is_refused_and_frees_the_place():
    turns = FairQueue(Capacity(slots=1, waiting=1, wait_s=0.01))
    await turns.acquire("a")
    with pytest.raises(Overloaded):
        await turns.acquire("b")
    assert turns.n_waiting == 0
    turns.release("a")
    await turns.acquire("b")
    assert turns.n_lent == 1


async def test_client_that_has_left_takes_no_slot():
    turns = FairQueue(Capacity(slots=1, waiting=1, wait_s=5.0))
    await turns.acquire("a")
    left = asyncio.get_running_loop().create_future()
    left.set_result(None)
    with pytest.raises(ClientGone):
        await turns.acquire("b", lambda: left)
    turns.release("a")
    assert (turns.n_lent, turns.n_waiting) == (0, 0)


async def test_slot_lent_in_the_moment_of_leaving_is_given_back():
    turns = FairQueue(Capacity(slots=1, waiting=1, wait_s=5.0))
    await turns.acquire("a")
    waiting = asyncio.create_task(turns.acquire("b"))
    await asyncio.sleep(0)
    turns.release("a")
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (turns.n_lent, turns.n_waiting) == (0, 0)
