"""Slots are lent in turn over the workspaces, and what there is no room for is refused."""

import asyncio
from contextlib import suppress

import pytest

from kebab.admission.turns import Gone, Refused, Room, Turns

ROOM = Room(slots=4, waiting=6, wait_s=5.0)


class Crowd:
    """Requests that ask for slots; each notes its name when it has one, and keeps it until it is told."""

    def __init__(self, room: Room = ROOM) -> None:
        self.turns = Turns(room)
        self.served: list[str] = []
        self.refused: list[tuple[str, bool]] = []
        self._tasks: list[asyncio.Task] = []

    async def ask(self, *names: str) -> None:
        for name in names:
            self._tasks.append(asyncio.create_task(self._one(name)))
            await asyncio.sleep(0)

    async def finish(self, *names: str) -> None:
        for name in names:
            self.turns.give_back(name)
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    async def _one(self, name: str) -> None:
        try:
            await self.turns.take(name)
        except Refused as refused:
            self.refused.append((name, refused.is_own_doing))
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


def played(scene):
    """Run a scene with a crowd, and give the crowd."""

    async def run():
        crowd = Crowd()
        await scene(crowd)
        await crowd.settle()
        found = (list(crowd.served), list(crowd.refused))
        await crowd.leave()
        assert crowd.turns.n_waiting == 0
        return found

    return asyncio.run(run())


def test_one_workspace_leaves_a_quarter_of_the_slots_to_others():
    async def scene(crowd):
        await crowd.ask("a", "a", "a", "a", "b")

    assert played(scene) == (["a", "a", "a", "b"], [])


def test_slots_go_round_the_workspaces_that_wait():
    async def scene(crowd):
        await crowd.ask("a", "a", "a", "b", "a", "a", "a", "b", "c")
        await crowd.finish("a", "a", "b")

    served, refused = played(scene)
    assert served[:4] == ["a", "a", "a", "b"]
    assert sorted(served[4:]) == ["a", "b", "c"]
    assert refused == []


def test_a_full_queue_refuses_the_workspace_that_fills_it_and_not_the_newcomer():
    async def scene(crowd):
        await crowd.ask(*"aaa", "b", *"aaaaaa", "c")

    assert played(scene) == (["a", "a", "a", "b"], [("a", True)])


def test_a_full_queue_refuses_one_more_of_the_longest():
    async def scene(crowd):
        await crowd.ask(*"aaa", "b", *"aaaaaaa")

    assert played(scene) == (["a", "a", "a", "b"], [("a", True)])


def test_who_is_alone_is_told_of_the_load_and_not_of_others():
    async def scene(crowd):
        await crowd.ask(*"aaa", *"aaaaaaa")

    assert played(scene) == (["a", "a", "a"], [("a", False)])


def test_who_waits_too_long_is_refused_and_its_place_is_free():
    async def run():
        turns = Turns(Room(slots=1, waiting=1, wait_s=0.01))
        await turns.take("a")
        with pytest.raises(Refused):
            await turns.take("b")
        assert turns.n_waiting == 0
        turns.give_back("a")
        await turns.take("b")
        assert turns.n_lent == 1

    asyncio.run(run())


def test_who_has_left_takes_no_slot():
    async def run():
        turns = Turns(Room(slots=1, waiting=1, wait_s=5.0))
        await turns.take("a")
        left = asyncio.get_running_loop().create_future()
        left.set_result(None)
        with pytest.raises(Gone):
            await turns.take("b", lambda: left)
        turns.give_back("a")
        assert (turns.n_lent, turns.n_waiting) == (0, 0)

    asyncio.run(run())


def test_a_slot_that_was_lent_in_the_moment_of_leaving_is_given_back():
    async def run():
        turns = Turns(Room(slots=1, waiting=1, wait_s=5.0))
        await turns.take("a")
        waiting = asyncio.create_task(turns.take("b"))
        await asyncio.sleep(0)
        turns.give_back("a")
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert (turns.n_lent, turns.n_waiting) == (0, 0)

    asyncio.run(run())
