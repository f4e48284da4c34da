"""A cache of the contributions of frequent words and phrases to chunks' scores.

Common words have long lists: reading and scoring those of a heading took half of the lexical leg's time. FTS5
takes a millisecond to find a name of several parts.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from threading import Lock

from search.mirror.postings.score import Contribution

#: The alternative index terms of a word, or a phrase's expression, and the weights of breadcrumb and text.
Key = tuple[tuple[str, ...], tuple[float, float]]


class ContributionCache:
    """An LRU cache of contributions in one state of one collection. Safe for threads."""

    def __init__(self, max_entries: int) -> None:
        """Create a cache; `max_entries` bounds all lists. An entry takes 8 bytes, one of a phrase 16."""
        self._max_entries = max_entries
        self._entries = 0
        self._contributions: OrderedDict[Key, Contribution] = OrderedDict()
        self._lock = Lock()

    def get(self, keys: Iterable[Key]) -> dict[Key, Contribution]:
        """Return the cached contributions of `keys`."""
        with self._lock:
            found = {key: self._contributions[key] for key in keys if key in self._contributions}
            for key in found:
                self._contributions.move_to_end(key)
        return found

    def put(self, contributions: Mapping[Key, Contribution]) -> None:
        """Add contributions, and evict the least recently used."""
        with self._lock:
            for key, contribution in contributions.items():
                if key not in self._contributions:
                    self._contributions[key] = contribution
                    self._entries += max(1, len(contribution))  # an empty one takes room, too
            while self._entries > self._max_entries:
                _, evicted = self._contributions.popitem(last=False)
                self._entries -= max(1, len(evicted))
