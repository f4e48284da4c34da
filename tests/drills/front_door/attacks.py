"""All attacks; each lasts as long as its context."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tests.drills.front_door.body_attacks import BODY_ATTACKS
from tests.drills.front_door.crowd_attacks import CROWD_ATTACKS
from tests.drills.front_door.socket_attacks import SOCKET_ATTACKS
from tests.drills.front_door.target import Attack, Target

#: Attacks by what requests cost: bodies that don't end, crowds, and heavy queries.
COSTLY_ATTACKS: tuple[Attack, ...] = (*BODY_ATTACKS, *CROWD_ATTACKS)
ATTACKS: tuple[Attack, ...] = (*SOCKET_ATTACKS, *COSTLY_ATTACKS)


def together(target: Target, stack: ExitStack) -> None:
    """Play all costly attacks at once."""
    for attack in COSTLY_ATTACKS:
        attack(target, stack)


@contextmanager
def run_attack(attack: Attack, target: Target) -> Iterator[None]:
    """Attack during the block."""
    with ExitStack() as stack:
        attack(target, stack)
        yield
