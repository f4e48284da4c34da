"""Linearizability of one register: each operation took effect at one moment between its begin and end.

The search follows J. Wing and C. Gong, Testing and Verifying Concurrent Objects, 1993: the next operation
is one of the remaining ones that began before any of them had ended. Visited states are remembered by the set
of finished operations and the value, as in G. Lowe, Testing for Linearizability, 2017.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from tests.drills.consistency.history import Read, Word, Write


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operation:
    is_write: bool
    word: Word | None
    began_s: float
    ended_s: float
    #: Whether it may have had no effect.
    is_unsure: bool = False


def is_linearizable(writes: Sequence[Write], reads: Sequence[Read], first: Word | None = None) -> bool:
    """Return whether an order of the operations explains all reads.

    All operations belong to one register, whose value is `first` at the beginning.
    """
    operations = sorted(_operations(writes, reads), key=lambda each: each.began_s)
    ended = sum(1 << n for n, each in enumerate(operations) if each.ended_s < inf)
    pending: list[tuple[int, Word | None]] = [(0, first)]
    tried = set(pending)
    while pending:
        done, word = pending.pop()
        if done & ended == ended:
            return True
        for after in _next(operations, done, word):
            if after not in tried:
                tried.add(after)
                pending.append(after)
    return False


def _operations(writes: Sequence[Write], reads: Sequence[Read]) -> Iterator[_Operation]:
    for write in writes:
        yield _Operation(
            is_write=True,
            word=write.word,
            began_s=write.began_s,
            ended_s=write.ended_s,
            is_unsure=not write.is_certain,
        )
    for read in reads:
        yield _Operation(is_write=False, word=read.word, began_s=read.began_s, ended_s=read.ended_s)


def _next(
    operations: Sequence[_Operation], done: int, word: Word | None
) -> Iterator[tuple[int, Word | None]]:
    earliest_end_s = inf
    first = (~done & (done + 1)).bit_length() - 1
    ready: list[int] = []
    for number in range(first, len(operations)):
        operation = operations[number]
        if operation.began_s > earliest_end_s:
            break
        if not done >> number & 1:
            earliest_end_s = min(earliest_end_s, operation.ended_s)
            ready.append(number)
    for number in ready:
        operation = operations[number]
        if operation.began_s > earliest_end_s:
            continue
        if operation.is_write:
            yield done | 1 << number, operation.word
        if operation.is_unsure or (not operation.is_write and operation.word == word):
            yield done | 1 << number, word
