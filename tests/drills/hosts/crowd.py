"""Clients that send requests beside a scene, each in a thread of its own."""

import threading
import time
from collections.abc import Sequence

from tests.drills.hosts.client import Client, Exchange

_PAUSE_S = 0.05


class Crowd:
    """Clients that send the kinds in turn during the block, each beginning with another kind."""

    def __init__(self, clients: Sequence[Client], kinds: Sequence[str], *, pause_s: float = _PAUSE_S) -> None:
        self._kinds = kinds
        self._pause_s = pause_s
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._exchanges: list[Exchange] = []
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
        """Stop, and wait for the present requests."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    @property
    def exchanges(self) -> list[Exchange]:
        """Return all finished requests, in order of their ends."""
        with self._lock:
            return list(self._exchanges)

    def _run(self, client: Client, number: int) -> None:
        while not self._stop.wait(self._pause_s):
            answer = client.ask(self._kinds[number % len(self._kinds)])
            with self._lock:
                self._exchanges.append(answer)
            number += 1
        client.close()


def after(exchanges: Sequence[Exchange], moment_s: float) -> list[Exchange]:
    """Return the requests that began at a moment or later."""
    return [each for each in exchanges if each.began_s >= moment_s]


def within(exchanges: Sequence[Exchange], from_s: float, to_s: float) -> list[Exchange]:
    """Return the requests that began between two moments."""
    return [each for each in exchanges if from_s <= each.began_s < to_s]


def spanning(exchanges: Sequence[Exchange], moment_s: float) -> list[Exchange]:
    """Return the requests under way at a moment."""
    return [each for each in exchanges if each.began_s < moment_s <= each.ended_s]


def hold(seconds: float) -> None:
    """Wait, as the duration of a cut is part of the scene."""
    time.sleep(seconds)
