"""Runs of attacks: one at a time beside other clients, or in turn during a load."""

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from tests.drills.front_door.attacks import ATTACKS, run_attack
from tests.drills.front_door.bystander import Bystander, BystanderAnswers, State, WebProcesses
from tests.drills.front_door.crowd_attacks import crowd_on_mcp
from tests.drills.front_door.socket_attacks import read_nothing
from tests.drills.front_door.target import Attack, Target

_DURING_S = 3.0
_LEAST = 40
#: Time after an attack until everything must be as before.
RECOVERY_S = 5.0
# A bulk, or a search that waits, ends within half a minute, also when its client has left.
_IDLE_S = 45.0
MORE_BYTES = 50 * 2**20
#: Most memory of one process.
MOST_BYTES = 350 * 2**20
MORE_THREADS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackResult:
    """The effects of one attack."""

    name: str
    before: State
    during: State
    answers: BystanderAnswers
    after: State

    @property
    def faults(self) -> list[str]:
        """Return the faults, except for latencies of other clients."""
        grown_threads = self.after.threads - self.before.threads
        grown_bytes = self.after.memory_bytes - self.before.memory_bytes
        found = {
            f"others were answered {dict(self.answers.statuses)}": not self.answers.is_good,
            f"{self.after.turns} turns are lent": self.after.turns > 0,
            f"{grown_threads} more threads": grown_threads > MORE_THREADS,
            f"{grown_bytes / 2**20:.0f} MB more memory": grown_bytes > MORE_BYTES,
            f"{self.during.largest_bytes / 2**20:.0f} MB in a process": self.during.largest_bytes
            > MOST_BYTES,
        }
        return [fault for fault, is_so in found.items() if is_so]


def start_threads(target: Target, bystander: Bystander) -> None:
    """Grow all thread pools, also of MCP, to their limits by requests with a token."""
    for attack in (read_nothing, crowd_on_mcp):
        with run_attack(attack, target):
            bystander.ask(seconds=_DURING_S, least=_LEAST)


def play(attack: Attack, target: Target, bystander: Bystander, processes: WebProcesses) -> AttackResult:
    """Attack for three seconds while others send requests, and compare the state five seconds later."""
    before = processes.state()
    with ExitStack() as stack:
        attack(target, stack)
        answers = bystander.ask(seconds=_DURING_S, least=_LEAST)
        during = processes.state()
    processes.wait_until_idle(_IDLE_S)
    time.sleep(RECOVERY_S)
    return AttackResult(
        name=attack.__name__, before=before, during=during, answers=answers, after=processes.state()
    )


@contextmanager
def run_attacks_in_turn(targets: Sequence[Target]) -> Iterator[Counter[str]]:
    """Run all attacks on the targets again and again, three seconds each with pauses of three; count them."""
    ended, played = threading.Event(), Counter[str]()

    def run() -> None:
        while targets:
            for attack in ATTACKS:
                for target in targets:
                    # A rejected client continues with the next attack.
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
