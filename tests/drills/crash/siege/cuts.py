"""Faults of the connections between a node and its servers."""

import random
import time

from tests.drills.crash.proxy import Mode, Proxy
from tests.drills.crash.siege.clock import now_s
from tests.drills.crash.siege.outages import Outages
from tests.drills.crash.siege.stacks import ProxiedNode
from tests.drills.crash.siege.strikes import Strike

#: Each mode for Postgres and for Redis, by name.
CUTS = tuple(f"{server} {mode}" for server in ("postgres", "redis") for mode in Mode if mode is not Mode.OPEN)
# Duration of lasting faults.
_LENGTH_S = (4.0, 8.0)


class Cuts:
    """Faults of one node's proxies."""

    def __init__(self, behind: ProxiedNode, outages: Outages, rng: random.Random) -> None:
        self._proxies: dict[str, Proxy] = {"postgres": behind.postgres, "redis": behind.redis}
        self._outages = outages
        self._rng = rng

    def strike(self, name: str) -> Strike:
        """Apply the named fault, and end it."""
        server, _, mode = name.partition(" ")
        proxy, length_s = self._proxies[server], self._rng.uniform(*_LENGTH_S)
        # A slow server is not away.
        away = {} if mode == Mode.SLOW else {server: _is_back}
        with self._outages.mark_away(away):
            proxy.set_mode(Mode(mode))
            if mode != Mode.RESET:
                time.sleep(length_s)
            proxy.set_mode(Mode.OPEN)
            # Recovery is measured from the end of the fault.
            return Strike(name=name, at_s=now_s())


def _is_back() -> bool:
    return True
