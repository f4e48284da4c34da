"""Node a is cut off from the database host: packets vanish in both directions. Node b goes on."""

import time
from statistics import median

from tests.drills.hosts.asking import KINDS, Asked
from tests.drills.hosts.crowd import Crowd, after, stay, within
from tests.drills.hosts.lab import Lab
from tests.drills.hosts.report import spread_ms
from tests.drills.hosts.scenes.refusing import Cut, claim_never_shown, claim_recovery, claim_refusals, warm_up

_CLIENTS = 20
_DOOMED = "first/3.md"
_CALM_S, _BEFORE_S, _AFTER_S, _HEALED_S = 5.0, 3.0, 5.0, 2.0
# The same machine plays all hosts: what it is busy with shows on both sides of the comparison.
_SLOWER, _SLOWER_S = 2.0, 0.2
_AT_B = ("search", "upload, waiting")


def partition(lab: Lab) -> None:
    """Cut a off while twenty clients ask it and others read and write through b, and heal it again."""
    warm_up(lab, lab.a)
    warm_up(lab, lab.b)
    with (
        Crowd(lab.clients(lab.a, _CLIENTS), list(KINDS)) as at_a,
        Crowd(lab.clients(lab.b, 2), _AT_B) as at_b,
    ):
        began_s = time.monotonic()
        stay(_CALM_S)
        lab.cut()
        # What began before may have been let in already, and is judged as what was on its way.
        cut_s = time.monotonic()
        stay(_BEFORE_S)
        lab.delete(lab.b, _DOOMED)
        deleted_s = time.monotonic()
        stay(_AFTER_S)
        cut = Cut(began_s=cut_s, healed_s=time.monotonic())
        lab.heal()
        claim_recovery(lab, lab.a, cut.healed_s)
        stay(_HEALED_S)
    asked = [*at_a.asked, *at_b.asked]
    lab.note(asked)
    claim_refusals(lab, lab.a, asked, cut)
    claim_never_shown(lab, asked, _DOOMED, deleted_s)
    _claim_undisturbed(lab, at_b.asked, began_s, cut)
    answered = [each for each in after(at_a.asked, cut.healed_s) if each.is_done]
    lab.report.claim("a answers its clients after it", [] if answered else ["nobody was answered"])


def _claim_undisturbed(lab: Lab, asked: list[Asked], began_s: float, cut: Cut) -> None:
    lab.report.claim("b answers everything", [each for each in asked if not each.is_done])
    for kind in ("search hybrid", "upload, waiting"):
        own = [each for each in asked if each.kind == kind]
        calm = [each.took_s for each in within(own, began_s, cut.began_s)]
        during = [each.took_s for each in within(own, cut.began_s, cut.healed_s)]
        lab.report.measure(f"b, {kind}, before", spread_ms(calm))
        lab.report.measure(f"b, {kind}, during the cut", spread_ms(during))
        bound_s = (_SLOWER * median(calm) + _SLOWER_S) * lab.report.patience
        slow = [] if median(during) <= bound_s else [f"{median(during):.2f} s instead of {median(calm):.2f}"]
        lab.report.claim(f"b is as quick as before: {kind}", slow)
