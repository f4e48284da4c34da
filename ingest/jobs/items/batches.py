"""Batches of a stream, bounded in number and bytes: a job has no more than that in memory."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

_T = TypeVar("_T")


def batch_by_size(
    stream: Iterable[_T], size_of: Callable[[_T], int], *, most: int, most_bytes: int
) -> Iterator[list[_T]]:
    """Yield the stream in lists of up to `most`; the element that reaches `most_bytes` ends a list."""
    batch: list[_T] = []
    size_bytes = 0
    for each in stream:
        batch.append(each)
        size_bytes += size_of(each)
        if len(batch) >= most or size_bytes >= most_bytes:
            yield batch
            batch, size_bytes = [], 0
    if batch:
        yield batch
