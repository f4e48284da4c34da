"""Attacks played one at a time while others ask, or in turn for as long as a load lasts."""

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from tests.drills.front_door.others import Noticed, Others, State, WebProcesses
from tests.drills.front_door.rude import ATTACKS, Attack, Target

_DURING_S = 3.0
_LEAST = 40
#: After so long everything is as it was before.
RECOVERY_S = 5.0
MORE_BYTES = 50 * 2**20
# Pools have fewer threads than they may have until so many are needed at once.
MORE_THREADS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What came of an attack."""

    name: str
    before: State
    noticed: Noticed
    after: State

    @property
    def faults(self) -> list[str]:
        """What is not as it should be, but for how long others waited."""
        grown_threads = self.after.threads - self.before.threads
        grown_bytes = self.after.memory_bytes - self.before.memory_bytes
        found = {
            f"others were answered {dict(self.noticed.statuses)}": set(self.noticed.statuses) != {200},
            f"{self.after.turns} turns are lent": self.after.turns > 0,
            f"{grown_threads} more threads": grown_threads > MORE_THREADS,
            f"{grown_bytes / 2**20:.0f} MB more memory": grown_bytes > MORE_BYTES,
        }
        return [fault for fault, is_so in found.items() if is_so]


def play(attack: Attack, target: Target, others: Others, processes: WebProcesses) -> Played:
    """Attack for three seconds, while others ask; look again five seconds after the end."""
    before = processes.state()
    with ExitStack() as stack:
        attack(target, stack)
        noticed = others.ask(seconds=_DURING_S, least=_LEAST)
    processes.wait_for_none(RECOVERY_S)
    time.sleep(RECOVERY_S)
    return Played(name=attack.__name__, before=before, noticed=noticed, after=processes.state())


@contextmanager
def attacking_in_turn(targets: Sequence[Target]) -> Iterator[Counter[str]]:
    """Play all attacks on the targets, again and again, three seconds each and three apart; count them."""
    ended, played = threading.Event(), Counter[str]()

    def run() -> None:
        while targets:
            for attack in ATTACKS:
                for target in targets:
                    # A client that is refused goes on with its next attack.
                    with ExitStack() as stack, contextlib.suppress(OSError):
                        attack(target, stack)
                        played[attack.__name__] += 1
                        ended.wait(_DURING_S)
                    if ended.wait(_DURING_S):
                        return

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield played
    finally:
        ended.set()
        thread.join()
