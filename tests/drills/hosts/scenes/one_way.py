"""Scenes: packets are lost in one direction only, which neither end can tell from a slow peer."""

import time
from collections.abc import Callable

from tests.drills.hosts.client import KINDS
from tests.drills.hosts.crowd import Crowd, hold
from tests.drills.hosts.lab import Lab
from tests.drills.hosts.network import BACK
from tests.drills.hosts.scenes.claims import Cut, claim_recovery, claim_refusals

_CLIENTS = 12
_CALM_S, _CUT_S = 2.0, 6.0


def requests_lost(lab: Lab) -> None:
    """Drop packets from a to Postgres; Redis works, and packets from Postgres arrive."""
    postgres = lab.database.postgres
    _play(lab, lab.drop_to_postgres, lambda: lab.a.host.restore_packets(BACK, postgres))


def answers_lost(lab: Lab) -> None:
    """Drop the packets from both servers to a; those from a arrive."""
    _play(lab, lab.drop_to_a, lambda: lab.database.host.restore_packets(BACK, lab.a.host.address(BACK)))


def _play(lab: Lab, drop: Callable[[], None], heal: Callable[[], None]) -> None:
    with Crowd(lab.clients(lab.a, _CLIENTS), list(KINDS)) as crowd:
        hold(_CALM_S)
        drop()
        began_s = time.monotonic()  # as in a partition
        hold(_CUT_S)
        cut = Cut(began_s=began_s, healed_s=time.monotonic())
        heal()
        claim_recovery(lab, lab.a, cut.healed_s)
    lab.record(crowd.exchanges)
    claim_refusals(lab, lab.a, crowd.exchanges, cut)
