"""Query parameters of a site: those that change what a page shows, learned by comparing its pages."""

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from ingest.connectors.web.addresses import Address

#: A parameter that changed nothing so often, with as many values, is dropped; a single value of it, too.
_TRIALS: Final = 3
# Such files rarely depend on a query: one is tried once there are two of them for a file.
_FILE = re.compile(r"\.(?:x?html?|md|txt|pdf|xml|json|css|js)\Z", re.IGNORECASE)


class QueryParameters:
    """Parameters that tell pages apart, that don't, and that are not known yet."""

    def __init__(self, telling: Iterable[str], *, is_learning: bool) -> None:
        """Take the names that tell the indexed pages apart."""
        self._telling = set(telling)
        self._is_learning = is_learning
        # By name, the value of each trial in which the page was the same without it.
        self._idle: dict[str, list[str]] = defaultdict(list)
        # By path of a file, the first address with a query; None once there was a second.
        self._first: dict[str, Address | None] = {}

    def admit(self, address: Address) -> list[Address]:
        """Return the addresses to request for a link, without the parameters that change nothing."""
        address = self.shorten(address)
        path, _, query = address.key.partition("?")
        if not query or not self._is_learning or _FILE.search(path) is None:
            return [address]
        first = self._first.setdefault(path, address)
        if first == address:
            return [address.with_key(path)]
        self._first[path] = None
        return [address] if first is None else [first, address]

    def shorten(self, address: Address) -> Address:
        """Return the address without the parameters that change nothing, as is known by now."""
        ignored = [name for name, value in address.parameters() if self._is_ignored(name, value)]
        return address.without(*ignored) if ignored else address

    def untold(self, address: Address) -> list[tuple[str, str]]:
        """Return the parameters of an address that have not told pages apart yet."""
        return [pair for pair in address.parameters() if self._is_learning and pair[0] not in self._telling]

    def record(self, name: str, value: str, *, is_same: bool) -> None:
        """Record whether a page was the same without a parameter."""
        if is_same:
            self._idle[name].append(value)
        else:
            self._telling.add(name)

    def _is_ignored(self, name: str, value: str) -> bool:
        values = self._idle.get(name, [])
        if name in self._telling or len(values) < _TRIALS:
            return False
        return value in values or len(set(values)) >= _TRIALS
