"""Scene: node a is cut off from Redis alone, which only wakes workers: reads and writes continue."""

import time
from statistics import median

from tests.drills.hosts.crowd import Crowd, hold, within
from tests.drills.hosts.lab import Lab
from tests.drills.hosts.network import BACK
from tests.drills.hosts.report import spread_ms

_CLIENTS = 6
_KINDS = ("search", "lexical", "upload", "documents", "upload, waiting", "page")
_CUT_S = 20.0
# Only a job with a lost hint waits for the sweep.
_AT_ONCE = ("search hybrid", "search lexical", "upload", "documents", "page")
_AT_ONCE_S = 1.5


def broker(lab: Lab) -> None:
    """Drop packets from a to Redis, while clients read and write through a."""
    with Crowd(lab.clients(lab.a, _CLIENTS), _KINDS) as crowd:
        hold(1.0)
        began_s = time.monotonic()
        lab.drop_to_redis()
        hold(_CUT_S)
        lab.a.host.restore_packets(BACK, lab.database.redis)
        healed_s = time.monotonic()
    lab.record(crowd.exchanges)
    lab.report.claim("a answers everything", [each for each in crowd.exchanges if not each.is_done])
    during = within(crowd.exchanges, began_s, healed_s)
    for kind in sorted({each.kind for each in crowd.exchanges}):
        durations_s = [each.took_s for each in during if each.kind == kind]
        lab.report.claim(f"{kind} goes on", [] if durations_s else ["nobody was answered"])
        lab.report.measure(f"a, {kind}, without Redis", spread_ms(durations_s))
        is_slow = kind in _AT_ONCE and durations_s and median(durations_s) > _AT_ONCE_S
        slow = [f"{median(durations_s):.2f} s"] if is_slow else []
        lab.report.claim(f"{kind} does not wait for Redis", slow)
