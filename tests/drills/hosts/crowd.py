"""Clients that go on asking beside a scene, each in a thread of its own."""

import threading
import time
from collections.abc import Sequence

from tests.drills.hosts.asking import Asked, Client

_PAUSE_S = 0.05


class Crowd:
    """As many clients as are given ask kinds in turn until the block ends; each begins with another kind."""

    def __init__(self, clients: Sequence[Client], kinds: Sequence[str], *, pause_s: float = _PAUSE_S) -> None:
        self._kinds = kinds
        self._pause_s = pause_s
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._asked: list[Asked] = []
        self._threads = [
            threading.Thread(target=self._run, args=(client, number), daemon=True)
            for number, client in enumerate(clients)
        ]

    def __enter__(self) -> "Crowd":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Have them ask nothing more, and wait for what they have asked."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    @property
    def asked(self) -> list[Asked]:
        """What came of all requests that have ended, in the order in which they did."""
        with self._lock:
            return list(self._asked)

    def _run(self, client: Client, number: int) -> None:
        while not self._stop.wait(self._pause_s):
            answer = client.ask(self._kinds[number % len(self._kinds)])
            with self._lock:
                self._asked.append(answer)
            number += 1
        client.close()


def after(asked: Sequence[Asked], moment_s: float) -> list[Asked]:
    """What was asked after a moment."""
    return [each for each in asked if each.began_s >= moment_s]


def within(asked: Sequence[Asked], from_s: float, to_s: float) -> list[Asked]:
    """What was asked between two moments."""
    return [each for each in asked if from_s <= each.began_s < to_s]


def spanning(asked: Sequence[Asked], moment_s: float) -> list[Asked]:
    """What was on its way at a moment."""
    return [each for each in asked if each.began_s < moment_s <= each.ended_s]


def stay(seconds: float) -> None:
    """Let a cut last: its length is what a scene is about."""
    time.sleep(seconds)
