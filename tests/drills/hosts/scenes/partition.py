"""Scene: node a is cut off from the database host in both directions, and node b continues."""

import time
from statistics import median

from tests.drills.hosts.client import KINDS, Exchange
from tests.drills.hosts.crowd import Crowd, after, hold, within
from tests.drills.hosts.lab import Lab
from tests.drills.hosts.report import spread_ms
from tests.drills.hosts.scenes.claims import Cut, claim_never_shown, claim_recovery, claim_refusals, warm_up

_CLIENTS = 20
_DOOMED = "first/3.md"
_CALM_S, _BEFORE_S, _AFTER_S, _HEALED_S = 5.0, 3.0, 5.0, 2.0
# The same machine runs all hosts, so that other load affects both sides of the comparison.
_SLOWER, _SLOWER_S = 2.0, 0.2
_AT_B = ("search", "upload, waiting")


def partition(lab: Lab) -> None:
    """Cut a off while twenty clients use it and others read and write through b, and heal it again."""
    warm_up(lab, lab.a)
    warm_up(lab, lab.b)
    with (
        Crowd(lab.clients(lab.a, _CLIENTS), list(KINDS)) as at_a,
        Crowd(lab.clients(lab.b, 2), _AT_B) as at_b,
    ):
        began_s = time.monotonic()
        hold(_CALM_S)
        lab.cut()
        # Requests that began before may have been admitted, and count as under way.
        cut_s = time.monotonic()
        hold(_BEFORE_S)
        lab.delete(lab.b, _DOOMED)
        deleted_s = time.monotonic()
        hold(_AFTER_S)
        cut = Cut(began_s=cut_s, healed_s=time.monotonic())
        lab.heal()
        claim_recovery(lab, lab.a, cut.healed_s)
        hold(_HEALED_S)
    exchanges = [*at_a.exchanges, *at_b.exchanges]
    lab.record(exchanges)
    claim_refusals(lab, lab.a, exchanges, cut)
    claim_never_shown(lab, exchanges, _DOOMED, deleted_s)
    _claim_undisturbed(lab, at_b.exchanges, began_s, cut)
    answered = [each for each in after(at_a.exchanges, cut.healed_s) if each.is_done]
    lab.report.claim("a answers its clients after it", [] if answered else ["nobody was answered"])


def _claim_undisturbed(lab: Lab, exchanges: list[Exchange], began_s: float, cut: Cut) -> None:
    lab.report.claim("b answers everything", [each for each in exchanges if not each.is_done])
    for kind in ("search hybrid", "upload, waiting"):
        own = [each for each in exchanges if each.kind == kind]
        calm = [each.took_s for each in within(own, began_s, cut.began_s)]
        during = [each.took_s for each in within(own, cut.began_s, cut.healed_s)]
        lab.report.measure(f"b, {kind}, before", spread_ms(calm))
        lab.report.measure(f"b, {kind}, during the cut", spread_ms(during))
        bound_s = (_SLOWER * median(calm) + _SLOWER_S) * lab.report.patience
        slow = [] if median(during) <= bound_s else [f"{median(during):.2f} s instead of {median(calm):.2f}"]
        lab.report.claim(f"b is as quick as before: {kind}", slow)
