"""The scenes by name, in the order in which they are played; the audit looks after what all of them wrote."""

from collections.abc import Callable, Mapping

from tests.drills.hosts.lab import Lab
from tests.drills.hosts.scenes.audit import audit
from tests.drills.hosts.scenes.both import both
from tests.drills.hosts.scenes.broker import broker
from tests.drills.hosts.scenes.flapping import flapping
from tests.drills.hosts.scenes.lease import lease
from tests.drills.hosts.scenes.one_way import answers_lost, questions_lost
from tests.drills.hosts.scenes.partition import partition

#: Each takes the lab and how many seconds a link is to flap.
SCENES: Mapping[str, Callable[[Lab, float], None]] = {
    "partition": lambda lab, _: partition(lab),
    "flapping": flapping,
    "questions-lost": lambda lab, _: questions_lost(lab),
    "answers-lost": lambda lab, _: answers_lost(lab),
    "both": lambda lab, _: both(lab),
    "broker": lambda lab, _: broker(lab),
    "lease": lambda lab, _: lease(lab),
    "audit": lambda lab, _: audit(lab),
}
