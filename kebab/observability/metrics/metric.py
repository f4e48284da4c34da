"""What a metric is: its name, its type, and what tells its series apart."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge", "histogram"]

_families: dict[str, "Family"] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A metric; its series differ in the values of its labels."""

    #: As it is exposed: counters end in `_total`, units are seconds and bytes.
    name: str
    help: str
    kind: Kind
    labels: tuple[str, ...] = ()
    #: The upper bounds of a histogram's buckets, the infinite one left out; ascending.
    bounds: tuple[float, ...] = ()

    @property
    def n_slots(self) -> int:
        """Return how many numbers a series has: of a histogram its buckets, the infinite one, and the sum."""
        return len(self.bounds) + 2 if self.kind == "histogram" else 1


def declare(family: Family) -> Family:
    """Make a family known, so that it is exposed before anything is counted; give it."""
    return _families.setdefault(family.name, family)


def declared() -> dict[str, Family]:
    """Return the families that this process knows, by name."""
    return dict(_families)
