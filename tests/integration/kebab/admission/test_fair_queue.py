import asyncio
from collections import Counter
from contextlib import suppress
from dataclasses import replace

import pytest

from kebab.http.admission import fair_queue
from kebab.http.admission.fair_queue import Capacity, ClientGone, FairQueue, Overloaded, Usage

pytestmark = pytest.mark.anyio
ROOM = Capacity(slots=4, waiting=6, wait_s=5.0)


class Crowd:
    """Requests for slots; each keeps its slot until `finish`."""

    def __init__(self, capacity: Capacity = ROOM, usage: Usage | None = None) -> None:
        self.turns = FairQueue(capacity, usage)
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
            self.refused.append((name, refused.is_caller_busy))
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
    """Return the served and the refused callers after these requests and releases."""

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
    ("one caller leaves a quarter of the slots to others", "aaaab", "aaab", []),
    (
        "a full queue refuses the caller who fills it, not a newcomer",
        "aaabaaaaaac",
        "aaab",
        [("a", True)],
    ),
    ("who waits most makes room", "aaabaaaaaabbc", "aaab", [("a", True)] * 3),
    ("a full queue refuses one more of the longest", "aaabaaaaaaa", "aaab", [("a", True)] * 2),
    ("a caller alone is refused for the load, not for their own doing", "a" * 9, "aaa", [("a", False)]),
]


def test_slots_are_granted_and_refused_per_caller(subtests):
    for name, asking, served, refused in SCENES:
        with subtests.test(scene=name):
            assert outcome_of(asking) == (list(served), refused)


async def test_last_fifth_of_the_slots_is_for_callers_who_have_none():
    crowd = Crowd(Capacity(slots=10, waiting=20, wait_s=5.0))
    await crowd.ask(*"aaaaaaaaaabbcd")
    assert Counter(crowd.served) == {"a": 8, "b": 1, "c": 1}
    await crowd.finish("c")
    assert crowd.served[-1] == "d"
    await crowd.leave()


async def test_next_slot_is_for_the_caller_who_held_slots_for_the_shortest_time():
    now = [0.0]
    crowd = Crowd(Capacity(slots=1, waiting=9, wait_s=5.0), Usage(lambda: now[0]))
    await crowd.ask(*"aabccc")
    for held_s, name in [(3.0, "a"), (1.0, "b"), (0.4, "c"), (0.4, "c"), (0.4, "c")]:
        now[0] += held_s
        await crowd.finish(name)
    assert "".join(crowd.served) == "abccca"
    await crowd.leave()


async def test_usage_includes_time_of_slots_still_held():
    now = [0.0]
    crowd = Crowd(Capacity(slots=4, waiting=9, wait_s=5.0), Usage(lambda: now[0]))
    await crowd.ask("a")
    now[0] = 4.0
    await crowd.ask(*"cdac")
    now[0] = 5.0
    await crowd.finish("d")
    assert "".join(crowd.served) == "acdc"
    await crowd.leave()


async def test_queues_sharing_a_usage_charge_callers_together():
    now = [0.0]
    usage = Usage(lambda: now[0])
    tools = FairQueue(ROOM, usage)
    await tools.acquire("a")
    now[0] = 4.0
    tools.release("a")
    crowd = Crowd(Capacity(slots=1, waiting=9, wait_s=5.0), usage)
    await crowd.ask(*"cab")
    await crowd.finish("c", "b")
    assert "".join(crowd.served) == "cba"
    await crowd.leave()


async def test_recent_use_reduces_the_slots_of_a_caller_when_others_wait():
    now = [0.0]
    crowd = Crowd(Capacity(slots=8, waiting=30, wait_s=5.0, computes=True), Usage(lambda: now[0]))
    await crowd.ask(*"aaaaaaa")
    assert Counter(crowd.served) == {"a": 6}
    now[0] = 0.5
    await crowd.ask(*"b")
    await crowd.finish(*"aaa")
    assert Counter(crowd.served) == {"a": 6, "b": 1}  # three seconds used: three slots
    await crowd.ask(*"aa")
    now[0] = 1.6
    await crowd.finish(*"a")
    assert Counter(crowd.served) == {"a": 9, "b": 1}  # alone for a second: all six
    await crowd.leave()


async def test_refusals_are_delayed_up_to_a_limit_at_once(monkeypatch):
    monkeypatch.setattr(fair_queue, "_HELD_BACK", 2)
    turns = FairQueue(Capacity(slots=1, waiting=0, wait_s=5.0, refusal_s=0.05))
    refusals = [asyncio.create_task(turns.hold_back()) for _ in range(4)]
    for _ in range(5):
        await asyncio.sleep(0)
    assert [each.done() for each in refusals] == [False, False, True, True]
    async with asyncio.timeout(5):
        await asyncio.gather(*refusals)


def test_usage_halves_every_ten_seconds():
    now = [0.0]
    usage = Usage(lambda: now[0])
    usage.charge("a", 8.0)
    now[0] = 20.0
    assert (usage.seconds("a"), usage.seconds("b")) == (2.0, 0.0)
    usage.charge("a", 1.0)
    now[0] = 30.0
    assert usage.seconds("a") == 1.5


async def test_waiting_too_long_is_refused_and_frees_the_place():
    turns = FairQueue(Capacity(slots=1, waiting=1, wait_s=0.01))
    await turns.acquire("a")
    with pytest.raises(Overloaded):
        await turns.acquire("b")
    assert turns.n_waiting == 0
    turns.release("a")
    await turns.acquire("b")
    assert turns.n_lent == 1


async def test_disconnected_client_gets_no_slot():
    turns = FairQueue(Capacity(slots=1, waiting=1, wait_s=5.0))
    await turns.acquire("a")
    left = asyncio.get_running_loop().create_future()
    left.set_result(None)
    with pytest.raises(ClientGone):
        await turns.acquire("b", lambda: left)
    turns.release("a")
    assert (turns.n_lent, turns.n_waiting) == (0, 0)


async def test_slot_granted_to_a_cancelled_waiter_is_released():
    turns = FairQueue(Capacity(slots=1, waiting=1, wait_s=5.0))
    await turns.acquire("a")
    waiting = asyncio.create_task(turns.acquire("b"))
    await asyncio.sleep(0)
    turns.release("a")
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (turns.n_lent, turns.n_waiting) == (0, 0)


async def test_caller_held_back_for_others_is_served_once_they_leave(monkeypatch):
    monkeypatch.setattr(fair_queue, "_CHECK_S", 0.01)
    now = [100.0]
    usage = Usage(lambda: now[0])
    usage.charge("a", 6.0)
    crowd = Crowd(replace(ROOM, computes=True), usage)
    await crowd.ask("b", "a", "a")
    await crowd.finish("b")
    assert crowd.served == ["b", "a"]
    now[0] += 2.0
    async with asyncio.timeout(5.0):
        while crowd.turns.n_waiting:
            await asyncio.sleep(0.01)
    await crowd.settle()
    assert crowd.served == ["b", "a", "a"]
    await crowd.leave()
