"""Metric families: name, type, labels and buckets."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge", "histogram"]

_families: dict[str, "Family"] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A metric family; its series differ in their label values."""

    #: The exposed name: counters end in `_total`, units are seconds and bytes.
    name: str
    help: str
    kind: Kind
    labels: tuple[str, ...] = ()
    #: The upper bounds of a histogram's buckets, without the infinite one; ascending.
    bounds: tuple[float, ...] = ()

    @property
    def n_slots(self) -> int:
        """Return the numbers per series: for a histogram its buckets, the infinite one, and the sum."""
        return len(self.bounds) + 2 if self.kind == "histogram" else 1


def declare(family: Family) -> Family:
    """Register a family, so that it is exposed before anything is counted; return it."""
    return _families.setdefault(family.name, family)


def declared_families() -> dict[str, Family]:
    """Return the registered families of this process, by name."""
    return dict(_families)
