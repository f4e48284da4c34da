"""What the words and phrases that are asked for over and over add to each chunk's score.

Common words have long lists: reading and scoring those of a heading took half of the lexical leg's time. FTS5
takes a millisecond to find a name of several parts.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from threading import Lock

from search.mirror.postings.score import Contribution

#: The index terms any of which will do, or a phrase's expression, and the weights of breadcrumb and text.
Key = tuple[tuple[str, ...], tuple[float, float]]


class RecentUnits:
    """The contributions of what was asked for last, in one state of one collection. Safe for threads."""

    def __init__(self, max_entries: int) -> None:
        """`max_entries` bounds the lists together; an entry takes 8 bytes, one of a phrase 16."""
        self._max_entries = max_entries
        self._entries = 0
        self._known: OrderedDict[Key, Contribution] = OrderedDict()
        self._lock = Lock()

    def known(self, keys: Iterable[Key]) -> dict[Key, Contribution]:
        """Return those of `keys` that are kept."""
        with self._lock:
            found = {key: self._known[key] for key in keys if key in self._known}
            for key in found:
                self._known.move_to_end(key)
        return found

    def keep(self, made: Mapping[Key, Contribution]) -> None:
        """Keep these, too, and let go of those that were not asked for the longest."""
        with self._lock:
            for key, contribution in made.items():
                if key not in self._known:
                    self._known[key] = contribution
                    self._entries += max(1, len(contribution))  # one that nothing has is kept, too
            while self._entries > self._max_entries:
                _, dropped = self._known.popitem(last=False)
                self._entries -= max(1, len(dropped))
