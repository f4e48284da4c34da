"""Several limited processes, driven by as many threads."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from functools import partial
from itertools import count
from typing import Any, Self

from ingest.parsers.errors import IngestParseError, SandboxUnavailable
from ingest.sandbox.digester import Digester
from ingest.sandbox.types import Digest, DigestLimits, Submission
from kebab.observability import tracing
from kebab.runtime.context_executor import ContextThreads

#: documents in hand per process, and bytes of content in hand altogether
LOOK_AHEAD = 16
LOOK_AHEAD_BYTES = 16 * 1024**2
#: bytes of finished digests from which on no further document is begun
DIGEST_BYTES = 64 * 1024**2
#: documents that come out together at most, bytes of digests from which on no more join them, and seconds
#: that those which are ready wait for the next
GROUP = 32
GROUP_BYTES = 8_000_000
GATHER_S = 0.1
#: seconds after which who waits for a document asks whether it is still wanted
WATCH_S = 1.0

# A chunk's draft without its text.
_DRAFT_BYTES = 1_500

Outcome = Digest | IngestParseError


class DigesterPool:
    """Digests documents in `size` processes; each starts when first needed.

    Construct it in the process that uses it, after any fork.
    """

    def __init__(self, size: int, limits: DigestLimits | None = None) -> None:
        self._size = size
        self._limits = limits
        self._threads = ContextThreads(size, thread_name_prefix="digester")
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
        """Keys and results in the order given, as many at a time as are ready shortly after the first.

        `documents` is read only as far ahead as LOOK_AHEAD and LOOK_AHEAD_BYTES allow, and parsed as far as
        DIGEST_BYTES allows. A refused or quarantined document comes out as its error. `while_waiting` is
        called each second in which nothing comes out. When it raises, or the iterator is closed, what has
        not begun is dropped and what is being digested is ended at once.

        Raises:
            SandboxUnavailable: no limited process can be started, or the pool was closed.
        """
        shelf = _Shelf()
        line = _Line(iter(documents), partial(self._submit, shelf), LOOK_AHEAD * self._size, shelf)
        try:
            while line.has_more():
                while not line.is_ready(WATCH_S):
                    while_waiting()
                yield line.next_group()
        finally:
            if line.cancel():
                self._abort()

    def _abort(self) -> None:
        for digester in self._digesters.copy():  # threads replace theirs meanwhile
            digester.abort()

    def close(self) -> None:
        """Ends the processes at once, also in the middle of a document; safe to call again."""
        self._is_closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._abort()
        self._threads.shutdown(wait=True)
        for digester in self._digesters:
            digester.close()

    def _submit(self, shelf: "_Shelf", document: Submission) -> Future[Outcome]:
        return self._threads.submit(self._digest_onto, shelf, next(shelf.places), document)

    def _digest_onto(self, shelf: "_Shelf", place: int, document: Submission) -> Outcome:
        while not shelf.has_room(place, WATCH_S):
            if self._is_closed:
                raise SandboxUnavailable("this pool was closed")
        digester = self._own_digester()
        if self._is_closed or shelf.is_wide_open:  # asked last: from here on an abort meets this digester
            raise SandboxUnavailable("nobody waits for this document any more")
        with tracing.span("ingest.parse", size_bytes=len(document.content)):
            outcome = _digest(digester, document)
        shelf.add(_size_of(outcome))
        return outcome

    def _own_digester(self) -> Digester:
        """Return this thread's digester, another one once it was aborted."""
        digester = getattr(self._own, "digester", None)
        if digester is not None and digester.is_aborted:
            digester.close()
            self._digesters.remove(digester)
            digester = None
        if digester is None:
            digester = self._own.digester = Digester(self._limits)
            self._digesters.append(digester)
        return digester


class _Shelf:
    """The finished digests of one line that nobody has taken yet: full, it holds up those who make more.

    The first in line is never held up: nothing is taken before it.
    """

    def __init__(self) -> None:
        #: of the documents in line, from 0
        self.places = count()
        self._taken = threading.Condition()
        self._n_taken = 0
        self._size_bytes = 0
        self._is_wide_open = False

    @property
    def is_wide_open(self) -> bool:
        """Return whether what is made is thrown away."""
        with self._taken:
            return self._is_wide_open

    def has_room(self, place: int, within_s: float) -> bool:
        """Return whether there is room within so many seconds for what is at a place in line."""

        def has_room_now() -> bool:
            return self._is_wide_open or self._size_bytes <= DIGEST_BYTES or place == self._n_taken

        with self._taken:
            return self._taken.wait_for(has_room_now, timeout=within_s)

    def add(self, size_bytes: int) -> None:
        """Put a digest of about this size down."""
        with self._taken:
            self._size_bytes += size_bytes

    def take(self, size_bytes: int) -> None:
        """Take the first in line away."""
        with self._taken:
            self._n_taken += 1
            self._size_bytes -= size_bytes
            self._taken.notify_all()

    def open_wide(self) -> None:
        """Hold nobody up any more: what is made is thrown away."""
        with self._taken:
            self._is_wide_open = True
            self._taken.notify_all()


class _Line:
    """Documents in hand, first come first out, filled up whenever one leaves."""

    def __init__(
        self,
        documents: Iterator[Submission],
        submit: Callable[[Submission], Future[Outcome]],
        most: int,
        shelf: "_Shelf",
    ) -> None:
        self._documents = documents
        self._submit = submit
        self._most = most
        self._shelf = shelf
        self._in_hand: deque[tuple[Submission, Future[Outcome]]] = deque()
        self._size_bytes = 0

    def has_more(self) -> bool:
        """Return whether something is in hand, after what has room was taken in hand."""
        self._fill()
        return bool(self._in_hand)

    def is_ready(self, within_s: float) -> bool:
        """Return whether what comes out next is there within so many seconds."""
        return _is_done(self._in_hand[0][1], time.monotonic() + within_s)

    def next_group(self) -> list[tuple[Any, Outcome]]:
        """Return what comes out next, once it is there."""
        group: list[tuple[Any, Outcome]] = []
        size_bytes, until = 0, 0.0
        while self._in_hand and len(group) < GROUP and size_bytes < GROUP_BYTES:
            document, future = self._in_hand[0]
            if group and not _is_done(future, until):
                break
            outcome = future.result()
            group.append((document.key, outcome))
            until = until or time.monotonic() + GATHER_S
            size_bytes += _size_of(outcome)
            self._shelf.take(_size_of(outcome))
            self._size_bytes -= len(document.content)
            self._in_hand.popleft()
            self._fill()
        return group

    def cancel(self) -> bool:
        """Drop what has not begun; give whether something has, and is still in the making."""
        self._shelf.open_wide()
        begun = [future for _, future in self._in_hand if not future.cancel()]
        return not all(future.done() for future in begun)

    def _fill(self) -> None:
        while len(self._in_hand) < self._most and self._size_bytes <= LOOK_AHEAD_BYTES:
            document = next(self._documents, None)
            if document is None:
                return
            self._in_hand.append((document, self._submit(document)))
            self._size_bytes += len(document.content)


def _digest(digester: Digester, document: Submission) -> Outcome:
    try:
        return digester.digest(
            document.content, document.path, document.overrides, chunk_tokens=document.chunk_tokens
        )
    except SandboxUnavailable:
        raise
    except IngestParseError as error:
        return error


def _size_of(outcome: Outcome) -> int:
    """About the bytes that a digest takes."""
    if not isinstance(outcome, Digest):
        return 0
    return sum(_DRAFT_BYTES + len(chunk.text) for chunk in outcome.chunks)


def _is_done(future: Future[Outcome], until: float) -> bool:
    """Return whether a result is there, at the latest at a point of the monotonic clock."""
    return bool(wait((future,), timeout=max(0.0, until - time.monotonic())).done)
