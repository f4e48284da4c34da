"""Checks of a history against the guarantees in docs/consistency.md."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from tests.drills.consistency.history import History, Read, Register, Search, Write
from tests.drills.consistency.registers import is_linearizable

T = TypeVar("T", Write, Read)


def violations(history: History) -> dict[str, list[str]]:
    """Return the violations by claim; an empty list where the claim holds."""
    return {claim: list(check(history)) for claim, check in CLAIMS.items()}


def _all_reads(history: History) -> list[Read]:
    return [*history.reads, *(read for search in history.searches for read in search.reads)]


def _unwritten(history: History) -> Iterator[str]:
    written = {(write.register, write.word) for write in history.writes}
    for read in _all_reads(history):
        if read.word is not None and (read.register, read.word) not in written:
            yield f"{read} shows what nobody wrote"


def _not_linearizable(history: History) -> Iterator[str]:
    writes, reads = _by_register(history.writes), _by_register(_all_reads(history))
    for register in sorted(writes.keys() | reads.keys()):
        if not is_linearizable(writes[register], reads[register]):
            yield f"no order of the writes of {register} explains what was read of it"


def _two_versions(history: History) -> Iterator[str]:
    for search in history.searches:
        seen = [register for register, _ in set(search.seen)]
        if len(seen) != len(set(seen)):
            yield f"{search} shows a document twice"


def _out_of_order(history: History) -> Iterator[str]:
    """Yield acknowledged writes without a higher number than all writes acknowledged before they began."""
    acknowledged = _Acknowledged(history.writes)
    for write in history.writes:
        if write.seq is not None and write.seq <= acknowledged.before(write.began_s):
            yield f"{write} follows change {acknowledged.before(write.began_s)}"


def _below_min_seq(history: History) -> Iterator[str]:
    for search in history.searches:
        if search.min_seq is not None and search.seq < search.min_seq:
            yield f"{search} is older than requested"


def _going_back(history: History) -> Iterator[str]:
    """Yield searches whose answer is older than one that the same node gave before they began."""
    for node in {search.node for search in history.searches}:
        own = [search for search in history.searches if search.node == node]
        newest = _Newest((search.ended_s, search.seq) for search in own)
        for search in own:
            if search.seq < newest.before(search.began_s):
                yield f"{search} is older than an answer before it, {newest.before(search.began_s)}"


def _not_searchable(history: History) -> Iterator[str]:
    """Yield searches older than a write that waited for searchability on their node."""
    for node in {search.node for search in history.searches}:
        waited = [write for write in history.writes if write.node == node and write.is_searchable]
        acknowledged = _Acknowledged(waited)
        for search in history.searches:
            if search.node == node and search.seq < acknowledged.before(search.began_s):
                yield f"{search} is older than {acknowledged.before(search.began_s)}, which was waited for"


def _dishonest_lag(history: History) -> Iterator[str]:
    acknowledged = _Acknowledged(history.writes)
    for search in history.searches:
        if search.lag < 0 or search.seq + search.lag < acknowledged.before(search.began_s):
            yield f"{search} hides that there is change {acknowledged.before(search.began_s)}"


def _from_the_future(history: History) -> Iterator[str]:
    """Yield lexical hits of writes with a higher number than the answer's."""
    acknowledged = _Acknowledged(history.writes)
    began_s = {(write.register, write.word): write.began_s for write in history.writes}
    for search in (each for each in history.searches if each.is_lexical):
        for shown in search.seen:
            if shown in began_s and acknowledged.before(began_s[shown]) >= search.seq:
                yield f"{search} shows {shown}, which came later"


def _missing_write(history: History) -> Iterator[str]:
    """Yield searches for a word without it, although they include its write and nothing may overwrite it."""
    writes = _by_register(history.writes)
    by_word = {(write.register, write.word): write for write in history.writes if write.seq is not None}
    for search in _complete(history.searches):
        wanted = by_word.get((search.register, search.word))
        if wanted is None or search.word is None or wanted.seq is None or search.seq < wanted.seq:
            continue
        others = (write for write in writes[search.register] if write is not wanted)
        stands = all(each.ended_s < wanted.began_s or each.began_s > search.ended_s for each in others)
        if stands and (search.register, search.word) not in search.seen:
            yield f"{search} misses {wanted}"


def _missing_register(history: History) -> Iterator[str]:
    """Yield searches for the register's name without it, although it existed all the time."""
    writes = _by_register(history.writes)
    for search in _complete(history.searches):
        if search.word is not None or (search.min_seq is None and search.lag > 0):
            continue
        there = _permanent_write(writes[search.register], search)
        if there is not None and search.register not in {register for register, _ in search.seen}:
            yield f"{search} misses {search.register}, there since {there}"


def _permanent_write(writes: Iterable[Write], search: Search) -> Write | None:
    """Return an included write after which the document existed until the search had ended."""
    own = list(writes)
    gone = [write for write in own if write.word is None and write.began_s <= search.ended_s]
    for write in reversed(own):
        if write.word is None or write.seq is None or write.seq > search.seq:
            continue
        if write.ended_s < search.began_s and all(each.ended_s < write.began_s for each in gone):
            return write
    return None


def _complete(searches: Iterable[Search]) -> Iterator[Search]:
    return (search for search in searches if search.is_whole)


def _by_register(operations: Iterable[T]) -> Mapping[Register, list[T]]:
    found: dict[Register, list[T]] = defaultdict(list)
    for each in operations:
        found[each.register].append(each)
    return found


class _Newest:
    """The highest number of the operations that had ended by a moment."""

    def __init__(self, ended: Iterable[tuple[float, int]]) -> None:
        in_time = sorted(ended)
        self._ends_s = [end_s for end_s, _ in in_time]
        self._highest = [0]
        for _, seq in in_time:
            self._highest.append(max(self._highest[-1], seq))

    def before(self, moment_s: float) -> int:
        """Return the highest number before a moment; 0 when there was none."""
        return self._highest[bisect_left(self._ends_s, moment_s)]


class _Acknowledged(_Newest):
    """The highest number that had been acknowledged to a writer by a moment."""

    def __init__(self, writes: Iterable[Write]) -> None:
        super().__init__((write.ended_s, write.seq) for write in writes if write.seq is not None)


CLAIMS: Mapping[str, Callable[[History], Iterator[str]]] = {
    "nothing is shown that was not written": _unwritten,
    "each document is linearizable": _not_linearizable,
    "no answer shows two versions of a document": _two_versions,
    "writes are numbered in their order": _out_of_order,
    "an answer is as new as was asked for": _below_min_seq,
    "a node's answers do not go back": _going_back,
    "what was waited for is searchable on its node": _not_searchable,
    "lag is honest": _dishonest_lag,
    "an answer by words shows nothing newer than its number": _from_the_future,
    "a search finds the write that it is to include": _missing_write,
    "a search finds a document that was there all the time": _missing_register,
}
