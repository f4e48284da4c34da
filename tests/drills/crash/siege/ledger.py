"""Record of acknowledged writes, and the states that a document may have at a time."""

import threading
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tests.drills.crash.siege.clock import now_s


@dataclass(slots=True, kw_only=True)
class Deed:
    """One write of a document by its only client: a text, or its deletion (None)."""

    text: str | None
    #: The revision's word, '' of a deletion.
    word: str
    #: Nobody can have seen it before.
    began_s: float
    #: Nobody may see the previous state from then on; None until it is acknowledged.
    settled_s: float | None = None
    #: The change that makes it visible to searches.
    seq: int = 0


class Ledger:
    """The writes of every document by path, in order: each begins after the previous one is acknowledged."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._deeds: dict[str, list[Deed]] = defaultdict(list)
        self.key_words: dict[str, str] = {}

    def begin(self, path: str, key_word: str, *, text: str | None, word: str) -> Deed:
        """Record that a write is about to be requested."""
        deed = Deed(text=text, word=word, began_s=now_s())
        with self._lock:
            self.key_words[path] = key_word
            self._deeds[path].append(deed)
        return deed

    def settle(self, deed: Deed, seq: int) -> None:
        """Record that a write is acknowledged, with its change number."""
        with self._lock:
            deed.seq, deed.settled_s = seq, now_s()

    def paths(self) -> Sequence[str]:
        """Return every path that was ever written, in order."""
        with self._lock:
            return sorted(self.key_words)

    def possible(self, path: str, from_s: float, to_s: float) -> list[Deed]:
        """Return the writes whose result may be seen between `from_s` and `to_s`; one may be a deletion.

        A document that has not been written yet counts as deleted.
        """
        with self._lock:
            started = [deed for deed in self._deeds.get(path, ()) if deed.began_s <= to_s]
        settled = [n for n, deed in enumerate(started) if _is_settled(deed, from_s)]
        if settled:
            return started[settled[-1] :]
        return [Deed(text=None, word="", began_s=0.0, settled_s=0.0), *started]

    def certain(self, path: str, from_s: float, to_s: float) -> Deed | None:
        """Return the one write whose result holds from `from_s` to `to_s`; None if there are several."""
        possible = self.possible(path, from_s, to_s)
        return possible[0] if len(possible) == 1 else None

    def unsettled_paths(self) -> list[str]:
        """Return paths whose last write was never acknowledged."""
        with self._lock:
            return [path for path, deeds in sorted(self._deeds.items()) if deeds[-1].settled_s is None]

    def final_texts(self) -> dict[str, str | None]:
        """Return the final text of each document; None for deleted ones."""
        with self._lock:
            return {path: deeds[-1].text for path, deeds in self._deeds.items()}

    def last_seq(self) -> int:
        """Return the highest acknowledged change number."""
        with self._lock:
            return max((deed.seq for deeds in self._deeds.values() for deed in deeds), default=0)


def _is_settled(deed: Deed, at_s: float) -> bool:
    return deed.settled_s is not None and deed.settled_s <= at_s
