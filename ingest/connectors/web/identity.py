"""Comparison of the pages of a crawl: which show the same text, and which addresses have no end."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Final

from ingest.connectors.web.addresses import Address
from ingest.connectors.web.page_text import DATE_NAMES, PageText

#: So many pages in a row of one shape that show nothing new end the requests for such pages.
_MOST_ALIKE: Final = 20
_NUMBERS = re.compile(r"[\d_-]+")
_LEAST_TOKEN_CHARS: Final = 8
_Shape = tuple[frozenset[str], frozenset[str]]


class PageIdentities:
    """The texts of the pages that a crawl has read, and of those stored before, by key."""

    def __init__(self, stored: Mapping[str, str]) -> None:
        #: keys of indexed pages by the fingerprint of their text
        self.stored = stored
        #: keys of the pages that were read
        self.read: set[str] = set()
        # Fingerprints of the texts of listed pages.
        self._listed: set[str] = set()
        self._undated: dict[_Shape, set[str]] = defaultdict(set)
        self._alike_in_a_row: Counter[_Shape] = Counter()

    def record(self, address: Address, text: PageText) -> None:
        """Record what a page shows."""
        self.read.add(address.key)
        self._undated[_shape(address)].add(text.undated)

    def record_listed(self, address: Address, text: PageText) -> None:
        """Record that a page is a document."""
        self._listed.add(text.text)
        self._alike_in_a_row[_shape(address)] = 0

    def record_alike(self, address: Address) -> None:
        """Record that a page shows nothing new."""
        self._alike_in_a_row[_shape(address)] += 1

    def is_endless(self, address: Address) -> bool:
        """Return whether the last pages of this shape showed nothing new."""
        return self._alike_in_a_row[_shape(address)] >= _MOST_ALIKE

    def is_listed(self, text: PageText) -> bool:
        """Return whether a listed page has this text."""
        return bool(text.text) and text.text in self._listed

    def is_same_undated(self, address: Address, linked_by: str, text: PageText) -> bool:
        """Return whether a page, to which one of its shape leads, differs from such by dates alone."""
        shape = _shape(address)
        is_chained = bool(linked_by) and _shape(address.with_key(linked_by)) == shape
        return is_chained and bool(text.undated) and text.undated in self._undated[shape]


def _shape(address: Address) -> _Shape:
    """Return the names in an address, without numbers, dates and tokens, and how often each occurs."""
    names = address.key.partition("?")[0].split("/")
    parameters = frozenset(name for name, _ in address.parameters())
    return frozenset(map(_name_shape, names)), parameters


def _name_shape(name: str) -> str:
    parts = _NUMBERS.split(name.lower())
    is_token = len(parts) > 1 and len(name) >= _LEAST_TOKEN_CHARS and "." not in name and "-" not in name
    return "#" if is_token else "#".join("" if part in DATE_NAMES else part for part in parts)
