"""The same seed results in the same actions, however often a client is refused."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.drills.crash.siege.answers import Answers
from tests.drills.crash.siege.ledger import Ledger
from tests.drills.crash.siege.strikes import SERVER_FAULTS, plan_of
from tests.drills.crash.siege.writers import Uploader

_DEEDS = 40


class Door:
    """Answers as Kebab does, every second request with a refusal on request; records the accepted ones."""

    def __init__(self, *, refuses: bool) -> None:
        self._refuses = refuses
        self._asked = 0
        self.accepted: list[tuple[str, str, object]] = []

    def ask(self, kind: str, method: str, path: str, **options: Any) -> httpx.Response | None:
        self._asked += 1
        if self._refuses and self._asked % 2:
            return None
        body = options.get("json", {})
        self.accepted.append((method, path, body.get("text")))
        document = {"id": f"id-of-{body.get('path')}"}
        return httpx.Response(200, json={"document": document, "seq": self._asked, "job": None})


@pytest.fixture
def deeds() -> Callable[..., list[tuple[str, str, object]]]:
    """Return a function that returns the writes of an uploader after some actions."""

    def of(*, seed: int, refuses: bool = False) -> list[tuple[str, str, object]]:
        door = Door(refuses=refuses)
        uploader = Uploader("uploader-1", door, Ledger(), Answers(), seed=seed, first=100)
        for _ in range(_DEEDS):
            uploader.act()
        return door.accepted

    return of


@pytest.mark.slow
def test_same_seed_results_in_the_same_writes_with_and_without_refusals(deeds):
    assert deeds(seed=7) == deeds(seed=7, refuses=True)
    assert {"POST", "DELETE"} == {method for method, _, _ in deeds(seed=7)}


def test_another_seed_results_in_other_writes(deeds):
    assert deeds(seed=7) != deeds(seed=8)


def test_same_seed_results_in_the_same_plan_with_each_kind_of_fault():
    plan = plan_of(7, 200)
    assert plan == plan_of(7, 200) != plan_of(8, 200)
    assert sum(name not in SERVER_FAULTS for name in plan) == 200
    kinds = {"worker", "web", "beat", "redis", "postgres", "supervisor", "embedder", "mirror", *SERVER_FAULTS}
    assert kinds <= set(plan)
