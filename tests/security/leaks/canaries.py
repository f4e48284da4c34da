"""Words that stand nowhere but in what a caller may not see; each kind of place has a stem of its own."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

#: What another workspace holds, and what a restricted source of the callers' own workspace holds.
THEIRS = "brimworth"
CLOSED = "velmoor"
#: A stem that stands nowhere at all, as long as the others are in letters and in kind.
NOWHERE = {THEIRS: "grimdorth", CLOSED: "telvoor"}
STEMS = (THEIRS, CLOSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Ids by the names that addresses and bodies give them: of what is hidden, or of what is nowhere."""

    stem: str
    ids: Mapping[str, str] = field(default_factory=dict)

    def missing(self) -> "Target":
        """The same names with ids of nothing, of the same form and length."""
        return Target(stem=self.stem, ids={name: _missing(name, value) for name, value in self.ids.items()})


def _missing(name: str, value: str) -> str:
    for stem, absent in NOWHERE.items():
        if stem in value:
            return value.replace(stem, absent)
    if value.isdecimal():
        return str(2**31 - 1 - int(value) % 1_000)
    return str(uuid.uuid4()) if "-" in value else uuid.uuid4().hex
