"""Omissions of a document: what its reader left out on purpose or could not read, and by how much."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from ingest.parsers.decode import UNSAFE
from search.documents.charset import REPLACEMENT
from search.documents.omissions import OMISSION_KINDS, READ_IN_PART

#: places of one kind that are named, and characters of one of them
MAX_PLACES: Final = 3
MAX_PLACE_CHARS: Final = 100
MORE: Final = "…"
WORD: Final = re.compile(r"[^\W_]+")
#: share of the distinct words of the visible text below which a document is marked as read in part
READ_SHARE: Final = 0.8
#: words that a file may have without showing them, such as the names of fields
FREE_WORDS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Omission:
    """Text of one kind that is not in the outline; see OMISSION_KINDS for the unit of the amount."""

    kind: str
    amount: int
    #: the first places: pages, sheets, slides, names of parts
    where: tuple[str, ...] = ()


@dataclass(slots=True)
class OmissionLog:
    """Omissions that a reader reports, summed by kind."""

    _amounts: dict[str, int] = field(default_factory=dict)
    _places: dict[str, dict[str, None]] = field(default_factory=dict)

    def omitted(self, kind: str, amount: int = 1, where: str = "") -> None:
        """Add an omission at a place ('' for none); an amount of 0 is none. Raises KeyError."""
        OMISSION_KINDS[kind]
        if amount <= 0:
            return
        self._amounts[kind] = self._amounts.get(kind, 0) + amount
        places = self._places.setdefault(kind, {})
        if where and len(places) <= MAX_PLACES:
            cleaned = UNSAFE.sub(REPLACEMENT, " ".join(where.split()))[:MAX_PLACE_CHARS]
            places[cleaned if len(places) < MAX_PLACES or cleaned in places else MORE] = None

    def add(self, omissions: Iterable[Omission], where: str = "") -> None:
        """Add the omissions of a part that was read by itself, at one place."""
        for each in omissions:
            self.omitted(each.kind, each.amount, where)

    def listed(self) -> tuple[Omission, ...]:
        """Return the omissions, one for each kind."""
        return tuple(
            Omission(kind=kind, amount=amount, where=tuple(self._places[kind]))
            for kind, amount in self._amounts.items()
        )


def omissions_to_wire(omissions: Iterable[Omission]) -> dict[str, dict[str, Any]]:
    """Return the omissions as they are stored with a document: amount and places by kind."""
    return {
        each.kind: {"amount": each.amount, **({"where": list(each.where)} if each.where else {})}
        for each in omissions
    }


def compare_words(seen: str, lines: Iterable[str], free_words: int = FREE_WORDS) -> tuple[Omission, ...]:
    """Return the omission of a document read in part, none where enough of the words seen are in its lines.

    Distinct words are compared, so that what a page shows twice counts once. The loss of `free_words` alone
    marks no document that has others.
    """
    kept, words = set(WORD.findall("\n".join(lines))), set(WORD.findall(seen))
    missing = len(words - kept)
    if (kept and missing <= max(free_words, (1 - READ_SHARE) * len(words | kept))) or not missing:
        return ()
    return (Omission(kind=READ_IN_PART, amount=missing),)
