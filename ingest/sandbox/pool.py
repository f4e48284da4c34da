"""Several limited processes, driven by as many threads."""

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Self

from ingest.parsers.errors import IngestParseError, SandboxUnavailable
from ingest.sandbox.digester import Digester
from ingest.sandbox.types import Digest, DigestLimits, Submission

#: documents in hand per process, and bytes of content in hand altogether
LOOK_AHEAD = 4
LOOK_AHEAD_BYTES = 64 * 1024**2

Outcome = Digest | IngestParseError


class DigesterPool:
    """Digests documents in `size` processes; each starts when first needed.

    Construct it in the process that uses it, after any fork.
    """

    def __init__(self, size: int, limits: DigestLimits | None = None) -> None:
        self._size = size
        self._limits = limits
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="digester")
        self._own = threading.local()
        self._digesters: list[Digester] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def digest_many(self, documents: Iterable[Submission]) -> Iterator[tuple[Any, Outcome]]:
        """Key and result of each document, in the order given.

        `documents` is read only as far ahead as LOOK_AHEAD and LOOK_AHEAD_BYTES allow. A refused or
        quarantined document comes out as its error. Closing the iterator drops what has not begun.

        Raises:
            SandboxUnavailable: no limited process can be started, or the pool was closed.
        """
        in_hand: deque[tuple[Submission, Future[Outcome]]] = deque()
        size_bytes = 0
        try:
            for document in documents:
                while in_hand and not self._has_room(len(in_hand), size_bytes + len(document.content)):
                    size_bytes -= len(in_hand[0][0].content)
                    yield _result(in_hand.popleft())
                in_hand.append((document, self._threads.submit(self._digest, document)))
                size_bytes += len(document.content)
            while in_hand:
                yield _result(in_hand.popleft())
        finally:
            for _, future in in_hand:
                future.cancel()

    def close(self) -> None:
        """Ends the processes at once, also in the middle of a document; safe to call again."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for digester in self._digesters:
            digester.abort()
        self._threads.shutdown(wait=True)
        for digester in self._digesters:
            digester.close()

    def _has_room(self, documents: int, size_bytes: int) -> bool:
        return documents < LOOK_AHEAD * self._size and size_bytes <= LOOK_AHEAD_BYTES

    def _digest(self, document: Submission) -> Outcome:
        digester = getattr(self._own, "digester", None)
        if digester is None:
            digester = self._own.digester = Digester(self._limits)
            self._digesters.append(digester)
        try:
            return digester.digest(document.content, document.path, document.overrides)
        except SandboxUnavailable:
            raise
        except IngestParseError as error:
            return error


def _result(entry: tuple[Submission, Future[Outcome]]) -> tuple[Any, Outcome]:
    document, future = entry
    return document.key, future.result()
