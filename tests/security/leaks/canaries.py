"""Words that occur only in hidden objects; each kind of place has a stem of its own."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

#: Stem of another workspace, and of a restricted source of the callers' own workspace.
THEIRS = "brimworth"
CLOSED = "velmoor"
#: Stems that occur nowhere, with as many letters and of the same kind as the others.
NOWHERE = {THEIRS: "brigdorth", CLOSED: "telvoor"}
STEMS = (THEIRS, CLOSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Ids of hidden or missing objects, by the names that addresses and bodies use."""

    stem: str
    ids: Mapping[str, str] = field(default_factory=dict)

    def missing(self) -> "Target":
        """Return the same names with ids of missing objects, of the same form and length."""
        return Target(stem=self.stem, ids={name: _missing(name, value) for name, value in self.ids.items()})


def _missing(name: str, value: str) -> str:
    for stem, absent in NOWHERE.items():
        if stem in value:
            return value.replace(stem, absent)
    if value.isdecimal():
        return str(2**31 - 1 - int(value) % 1_000)
    return str(uuid.uuid4()) if "-" in value else uuid.uuid4().hex
