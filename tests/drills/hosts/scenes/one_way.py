"""A network that loses packets in one direction only, which neither end can tell from a slow peer."""

import time
from collections.abc import Callable

from tests.drills.hosts.asking import KINDS
from tests.drills.hosts.crowd import Crowd, stay
from tests.drills.hosts.lab import Lab
from tests.drills.hosts.network import BACK
from tests.drills.hosts.scenes.refusing import Cut, claim_recovery, claim_refusals

_CLIENTS = 12
_CALM_S, _CUT_S = 2.0, 6.0


def questions_lost(lab: Lab) -> None:
    """What a sends to Postgres is lost; Redis is there, and what Postgres sends arrives."""
    postgres = lab.database.postgres
    _refuse(lab, lab.lose_to_postgres, lambda: lab.a.host.find(BACK, postgres))


def answers_lost(lab: Lab) -> None:
    """What a sends arrives, what both servers answer is lost."""
    _refuse(lab, lab.lose_to_a, lambda: lab.database.host.find(BACK, lab.a.host.address(BACK)))


def _refuse(lab: Lab, lose: Callable[[], None], heal: Callable[[], None]) -> None:
    with Crowd(lab.clients(lab.a, _CLIENTS), list(KINDS)) as crowd:
        stay(_CALM_S)
        lose()
        began_s = time.monotonic()  # as in a partition
        stay(_CUT_S)
        cut = Cut(began_s=began_s, healed_s=time.monotonic())
        heal()
        claim_recovery(lab, lab.a, cut.healed_s)
    lab.note(crowd.asked)
    claim_refusals(lab, lab.a, crowd.asked, cut)
