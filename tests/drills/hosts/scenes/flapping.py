"""Scene: the link between node a and the database host flaps."""

import random
import time

from tests.drills.hosts.client import KINDS, Exchange
from tests.drills.hosts.crowd import Crowd, hold
from tests.drills.hosts.lab import Lab
from tests.drills.hosts.network import BACK
from tests.drills.hosts.report import spread_ms
from tests.drills.hosts.scenes.claims import REFUSAL_S, claim_never_shown, claim_recovery

_CLIENTS = 8
_DOOMED = "first/7.md"
_DOWN_S, _UP_S = (0.3, 2.5), (0.5, 3.0)
# Time for a request that is interrupted by several cuts.
_ALTOGETHER_S = 5.0


def flapping(lab: Lab, flap_s: float) -> None:
    """Flap a's link for `flap_s`, while clients use both nodes."""
    clients = [*lab.clients(lab.a, _CLIENTS), *lab.clients(lab.b, 2)]
    with Crowd(clients, list(KINDS)) as crowd:
        cuts_s = _flap(lab, flap_s / 2)
        lab.delete(lab.b, _DOOMED)
        deleted_s = time.monotonic()
        cuts_s += _flap(lab, flap_s / 2)
        healed_s = time.monotonic()
        claim_recovery(lab, lab.a, healed_s)
    lab.record(crowd.exchanges)
    lab.report.measure("flaps", len(cuts_s))
    _claim_all(lab, [each for each in crowd.exchanges if each.node == "a"], cuts_s)
    lab.report.claim("b answers everything", [e for e in crowd.exchanges if e.node == "b" and not e.is_done])
    claim_never_shown(lab, crowd.exchanges, _DOOMED, deleted_s)


def _flap(lab: Lab, seconds: float) -> list[float]:
    """Unplug and plug the cable in random intervals, and return the moments of unplugging."""
    rng = random.Random(f"flapping {seconds}")
    cuts_s, end_s = [], time.monotonic() + seconds
    while time.monotonic() < end_s:
        cuts_s.append(time.monotonic())
        lab.a.host.unplug(BACK)
        hold(rng.uniform(*_DOWN_S))
        lab.a.host.plug(BACK)
        hold(rng.uniform(*_UP_S))
    return cuts_s


def _claim_all(lab: Lab, exchanges: list[Exchange], cuts_s: list[float]) -> None:
    refused = [each for each in exchanges if each.is_refusal and each.kind != "upload, waiting"]
    report = lab.report
    report.claim(
        "a answers or refuses", [each for each in exchanges if not (each.is_done or each.is_put_off)]
    )
    refusal_s, altogether_s = REFUSAL_S * report.patience, _ALTOGETHER_S * report.patience
    late = [each for each in refused if _cut_for(each, cuts_s) > refusal_s]
    report.claim(f"a refuses within {refusal_s:g} s of being cut off", late)
    report.claim(
        f"and within {altogether_s:g} s, however often", [e for e in refused if e.took_s > altogether_s]
    )
    report.measure("a, done", len([each for each in exchanges if each.is_done]))
    report.measure("a, refused", spread_ms(each.took_s for each in refused))
    report.measure("a, refused, since cut off", spread_ms(_cut_for(each, cuts_s) for each in refused))


def _cut_for(exchange: Exchange, cuts_s: list[float]) -> float:
    """Return the time that a request waited since the last cut, which may have come during the request."""
    earlier_cuts_s = (cut_s for cut_s in cuts_s if cut_s < exchange.ended_s)
    return exchange.ended_s - max([exchange.began_s, *earlier_cuts_s])
