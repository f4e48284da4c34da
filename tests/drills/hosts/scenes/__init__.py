"""The scenes by name, in order; the audit checks the writes of all of them."""

from collections.abc import Callable, Mapping

from tests.drills.hosts.lab import Lab
from tests.drills.hosts.scenes.audit import audit
from tests.drills.hosts.scenes.both import both
from tests.drills.hosts.scenes.broker import broker
from tests.drills.hosts.scenes.flapping import flapping
from tests.drills.hosts.scenes.lease import lease
from tests.drills.hosts.scenes.one_way import answers_lost, requests_lost
from tests.drills.hosts.scenes.partition import partition

#: Each takes the lab and the duration of link flapping in seconds.
SCENES: Mapping[str, Callable[[Lab, float], None]] = {
    "partition": lambda lab, _: partition(lab),
    "flapping": flapping,
    "questions-lost": lambda lab, _: requests_lost(lab),
    "answers-lost": lambda lab, _: answers_lost(lab),
    "both": lambda lab, _: both(lab),
    "broker": lambda lab, _: broker(lab),
    "lease": lambda lab, _: lease(lab),
    "audit": lambda lab, _: audit(lab),
}
