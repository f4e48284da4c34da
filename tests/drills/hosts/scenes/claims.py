"""Claims about a node that is cut off, for any kind of cut."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.drills.hosts.client import KINDS, Exchange
from tests.drills.hosts.crowd import after, spanning, within
from tests.drills.hosts.lab import Lab
from tests.drills.hosts.node import Node
from tests.support.stack import GaveUp, eventually

REFUSAL_S = 3.0
RECOVERY_S = 10.0
_RECOVERY_LIMIT_S = 40.0
# Its answers list uploads of deleted documents, too.
_SHOWS_NO_DOCUMENTS = {"jobs"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Begin and end of a cut, by `time.monotonic`."""

    began_s: float
    healed_s: float


def warm_up(lab: Lab, node: Node) -> None:
    """Send a node a request of each kind, and claim that all succeed."""
    client = lab.client(node)
    exchanges = [client.ask(kind) for kind in KINDS]
    client.close()
    lab.record(exchanges)
    lab.report.claim(
        f"{node.name} answers all kinds before", [each for each in exchanges if not each.is_done]
    )


def claim_refusals(lab: Lab, node: Node, exchanges: Sequence[Exchange], cut: Cut) -> None:
    """Claim that a node rejected all requests during the cut, each within the limit."""
    own = [each for each in exchanges if each.node == node.name]
    during = [each for each in within(own, cut.began_s, cut.healed_s) if each.ended_s < cut.healed_s]
    flying = spanning(own, cut.began_s)
    waited = [each.ended_s - max(each.began_s, cut.began_s) for each in (*during, *flying)]
    report = lab.report
    report.claim(f"{node.name} is asked all kinds during the cut", sorted(_kinds(own) - _kinds(during)))
    report.claim(f"{node.name} refuses with 503 and Retry-After", [e for e in during if not e.is_refusal])
    report.claim(
        f"{node.name} answers or refuses what was on its way",
        [each for each in flying if not (each.is_done or each.is_refusal)],
    )
    limit_s = REFUSAL_S * report.patience
    late = [each for each in (*during, *flying) if each.ended_s - max(each.began_s, cut.began_s) > limit_s]
    report.claim(f"{node.name} keeps nobody waiting for longer than {limit_s:g} s", late)
    report.measure(f"requests refused by {node.name}", len(during))
    report.measure(f"longest wait at {node.name} in s", round(max(waited, default=0.0), 2))
    lab.refused |= {each.path for each in during if each.is_refusal and each.path}


def _kinds(exchanges: Sequence[Exchange]) -> set[str]:
    return {each.kind for each in exchanges}


def claim_recovery(lab: Lab, node: Node, healed_s: float) -> None:
    """Claim that a node has caught up within the limit after a cut, and reads its writes."""
    head = lab.head()
    mirrored_s = _seconds_until(lambda: node.mirror_seq(lab.workspace_id) >= head, healed_s)
    client = lab.client(node)
    read_s = _seconds_until(lambda: client.ask("lexical", min_seq=head).is_done, healed_s)
    client.close()
    for what, taken_s in (("mirror has caught up", mirrored_s), ("reads min_seq", read_s)):
        limit_s = RECOVERY_S * lab.report.patience
        lab.report.measure(f"{node.name} {what} after s", taken_s)
        late = [] if taken_s is not None and taken_s <= limit_s else [f"after {taken_s} s"]
        lab.report.claim(f"{node.name} {what} within {limit_s:g} s of healing", late)


def _seconds_until(claim: Callable[[], bool], since_s: float) -> float | None:
    try:
        eventually(claim, "recovery", _RECOVERY_LIMIT_S)
    except GaveUp:
        return None
    return round(time.monotonic() - since_s, 2)


def claim_never_shown(lab: Lab, exchanges: Sequence[Exchange], path: str, deleted_s: float) -> None:
    """Claim that requests after the acknowledged deletion of a document don't show it."""
    answers = [each for each in after(exchanges, deleted_s) if each.is_done]
    shown = [each for each in answers if each.kind not in _SHOWS_NO_DOCUMENTS and _shows(each, path)]
    lab.report.claim("a document that was deleted meanwhile is never shown", shown)


def _shows(exchange: Exchange, path: str) -> bool:
    # The answer to a client's own upload may have its path.
    return path != exchange.path and path in json.dumps(exchange.body)
