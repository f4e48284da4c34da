"""Scene: the database host is unplugged, and both nodes are cut off and recover."""

import time

from tests.drills.hosts.client import KINDS
from tests.drills.hosts.crowd import Crowd, hold
from tests.drills.hosts.lab import Lab
from tests.drills.hosts.network import BACK
from tests.drills.hosts.scenes.claims import Cut, claim_recovery, claim_refusals

_CLIENTS = 12
_CALM_S, _CUT_S = 2.0, 6.0


def both(lab: Lab) -> None:
    """Unplug the database host while clients use both nodes, and plug it in again."""
    clients = [*lab.clients(lab.a, _CLIENTS), *lab.clients(lab.b, _CLIENTS)]
    with Crowd(clients, list(KINDS)) as crowd:
        hold(_CALM_S)
        lab.database.host.unplug(BACK)
        began_s = time.monotonic()  # as in a partition
        hold(_CUT_S)
        cut = Cut(began_s=began_s, healed_s=time.monotonic())
        lab.database.host.plug(BACK)
        for node in (lab.a, lab.b):
            claim_recovery(lab, node, cut.healed_s)
    lab.record(crowd.exchanges)
    for node in (lab.a, lab.b):
        claim_refusals(lab, node, crowd.exchanges, cut)
