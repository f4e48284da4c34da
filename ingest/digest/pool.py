"""Pool of sandboxed processes, driven by as many threads."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from functools import partial
from itertools import count
from typing import Any, Self

from ingest.digest.digester import Digester
from ingest.digest.types import Digest, Submission
from ingest.parsers.errors import IngestParseError
from kebab.observability import tracing
from kebab.runtime.context_executor import ContextExecutor
from kebab.sandbox.program import SandboxUnavailable

#: pending documents per process, and bytes of their content in total
LOOK_AHEAD = 16
LOOK_AHEAD_BYTES = 16 * 1024**2
#: bytes of finished digests above which no further document is started
DIGEST_BYTES = 64 * 1024**2
#: documents of a group, bytes of digests above which a group is closed, and seconds that a group waits for
#: its next document
GROUP = 32
GROUP_BYTES = 8_000_000
GATHER_S = 0.1
#: seconds between calls of `while_waiting`, and between checks for room
WATCH_S = 1.0

# Bytes of a chunk's draft without its texts.
_DRAFT_BYTES = 1_500

Outcome = Digest | IngestParseError


class DigesterPool:
    """Pool that digests documents in `size` processes; each starts when first needed.

    Construct it in the process that uses it, after any fork.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._threads = ContextExecutor(size, thread_name_prefix="digester")
        self._own = threading.local()
        self._digesters: list[Digester] = []
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def digest_groups(
        self, documents: Iterable[Submission], while_waiting: Callable[[], None] = lambda: None
    ) -> Iterator[list[tuple[Any, Outcome]]]:
        """Yield keys and results in the order given, in groups of those ready shortly after the first.

        `documents` is read only as far ahead as LOOK_AHEAD and LOOK_AHEAD_BYTES allow, and parsed as far as
        DIGEST_BYTES allows. The result of a refused or quarantined document is its error. `while_waiting` is
        called each second without a result. When it raises, or the iterator is closed, waiting documents
        are dropped and running ones aborted.

        Raises:
            SandboxUnavailable: no sandboxed process can be started, or the pool was closed.
        """
        buffer = _DigestBuffer()
        queue = _Queue(iter(documents), partial(self._submit, buffer), LOOK_AHEAD * self._size, buffer)
        try:
            while queue.has_more():
                while not queue.is_ready(WATCH_S):
                    while_waiting()
                yield queue.next_group()
        finally:
            if queue.cancel():
                self._abort()

    def _abort(self) -> None:
        for digester in self._digesters.copy():  # threads replace theirs concurrently
            digester.abort()

    def close(self) -> None:
        """Stop the processes at once, also in the middle of a document; safe to call again."""
        self._is_closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._abort()
        self._threads.shutdown(wait=True)
        for digester in self._digesters:
            digester.close()

    def _submit(self, buffer: "_DigestBuffer", document: Submission) -> Future[Outcome]:
        return self._threads.submit(self._digest_into, buffer, next(buffer.positions), document)

    def _digest_into(self, buffer: "_DigestBuffer", position: int, document: Submission) -> Outcome:
        while not buffer.has_room(position, WATCH_S):
            if self._is_closed:
                raise SandboxUnavailable("this pool was closed")
        digester = self._own_digester()
        if (
            self._is_closed or buffer.is_discarding
        ):  # checked last: from here on an abort reaches this digester
            raise SandboxUnavailable("nobody waits for this document any more")
        with tracing.span("ingest.parse", size_bytes=len(document.content)):
            outcome = _digest(digester, document)
        buffer.add(_size_of(outcome))
        return outcome

    def _own_digester(self) -> Digester:
        """Return this thread's digester, a new one after an abort."""
        digester = getattr(self._own, "digester", None)
        if digester is not None and digester.is_aborted:
            digester.close()
            self._digesters.remove(digester)
            digester = None
        if digester is None:
            digester = self._own.digester = Digester()
            self._digesters.append(digester)
        return digester


class _DigestBuffer:
    """The size of one queue's finished digests that were not yet taken; when full, it blocks producers.

    The first in the queue is never blocked, because nothing is taken before it.
    """

    def __init__(self) -> None:
        #: positions of the documents in the queue, from 0
        self.positions = count()
        self._taken = threading.Condition()
        self._n_taken = 0
        self._size_bytes = 0
        self._is_discarding = False

    @property
    def is_discarding(self) -> bool:
        """Return whether further digests are discarded."""
        with self._taken:
            return self._is_discarding

    def has_room(self, position: int, within_s: float) -> bool:
        """Wait up to `within_s`, and return whether there is room for the digest at `position`."""

        def has_room_now() -> bool:
            return self._is_discarding or self._size_bytes <= DIGEST_BYTES or position == self._n_taken

        with self._taken:
            return self._taken.wait_for(has_room_now, timeout=within_s)

    def add(self, size_bytes: int) -> None:
        """Add a digest of about this size."""
        with self._taken:
            self._size_bytes += size_bytes

    def take(self, size_bytes: int) -> None:
        """Remove the first digest of the queue, of about this size."""
        with self._taken:
            self._n_taken += 1
            self._size_bytes -= size_bytes
            self._taken.notify_all()

    def discard_all(self) -> None:
        """Stop blocking producers: further digests are discarded."""
        with self._taken:
            self._is_discarding = True
            self._taken.notify_all()


class _Queue:
    """FIFO queue of pending documents, refilled whenever one leaves."""

    def __init__(
        self,
        documents: Iterator[Submission],
        submit: Callable[[Submission], Future[Outcome]],
        max_pending: int,
        buffer: "_DigestBuffer",
    ) -> None:
        self._documents = documents
        self._submit = submit
        self._max_pending = max_pending
        self._buffer = buffer
        self._pending: deque[tuple[Submission, Future[Outcome]]] = deque()
        self._size_bytes = 0

    def has_more(self) -> bool:
        """Refill the queue, and return whether a document is pending."""
        self._fill()
        return bool(self._pending)

    def is_ready(self, within_s: float) -> bool:
        """Wait up to `within_s`, and return whether the first result is ready."""
        return _is_done(self._pending[0][1], time.monotonic() + within_s)

    def next_group(self) -> list[tuple[Any, Outcome]]:
        """Wait for the first result, and return it with those ready shortly after it."""
        group: list[tuple[Any, Outcome]] = []
        size_bytes, until = 0, 0.0
        while self._pending and len(group) < GROUP and size_bytes < GROUP_BYTES:
            document, future = self._pending[0]
            if group and not _is_done(future, until):
                break
            outcome = future.result()
            group.append((document.key, outcome))
            until = until or time.monotonic() + GATHER_S
            size_bytes += _size_of(outcome)
            self._buffer.take(_size_of(outcome))
            self._size_bytes -= len(document.content)
            self._pending.popleft()
            self._fill()
        return group

    def cancel(self) -> bool:
        """Drop the documents that have not started, and return whether others are still running."""
        self._buffer.discard_all()
        started = [future for _, future in self._pending if not future.cancel()]
        return not all(future.done() for future in started)

    def _fill(self) -> None:
        while len(self._pending) < self._max_pending and self._size_bytes <= LOOK_AHEAD_BYTES:
            document = next(self._documents, None)
            if document is None:
                return
            self._pending.append((document, self._submit(document)))
            self._size_bytes += len(document.content)


def _digest(digester: Digester, document: Submission) -> Outcome:
    try:
        return digester.digest(
            document.content, document.path, document.overrides, chunk_tokens=document.chunk_tokens
        )
    except IngestParseError as error:
        return error


def _size_of(outcome: Outcome) -> int:
    """Return the approximate bytes that a digest takes."""
    if not isinstance(outcome, Digest):
        return 0
    return sum(_DRAFT_BYTES + len(chunk.text) + len(chunk.plain) for chunk in outcome.chunks)


def _is_done(future: Future[Outcome], until: float) -> bool:
    """Wait until a time of the monotonic clock, and return whether the result is ready."""
    return bool(wait((future,), timeout=max(0.0, until - time.monotonic())).done)
