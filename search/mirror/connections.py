"""SQLite connections to mirrors: one writer under the lock, pooled read-only readers."""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import apsw

from search.analysis import STEMMED, Analysis, register_tokenizer
from search.mirror import schema
from search.mirror.files import MirrorAbsent, MirrorBusy, MirrorDamaged, MirrorFiles, MirrorOutdated
from search.mirror.postings import CollectionCache
from search.mirror.query.raw_match import register_bm25

# Idle readers that a process keeps open, over all workspaces.
_IDLE_READERS = 64
# The latest of these keep their page cache, up to four megabytes each.
_WARM_READERS = 8
# Idle time after which a reader is closed, and the interval between sweeps for expired readers and deleted
# files: an open file takes disk space.
_IDLE_S = 600.0
_SWEEP_EVERY_S = 60.0
_BUSY_TIMEOUT_MS = 5_000


DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.NoFTS5Error)


@contextmanager
def translate_damage(path: Path) -> Iterator[None]:
    """Turn DAMAGE, SQLite's errors about a corrupt file, into MirrorDamaged."""
    try:
        yield
    except DAMAGE as error:
        raise MirrorDamaged(f"{Path(path).name}: {error}") from error


@contextmanager
def translate_io_errors(path: Path) -> Iterator[None]:
    """Turn I/O errors of a reader into MirrorBusy: the file itself may be sound.

    The first connection creates SQLite's shared-memory file, which fails on a full disk.
    """
    try:
        yield
    except (apsw.IOError, apsw.FullError) as error:
        raise MirrorBusy(f"The mirror file {path.name} can't be read now: {error}") from error


def open_writer(path: Path) -> apsw.Connection:
    """Open a mirror for writing; the caller holds the writer's lock.

    Raises MirrorOutdated, MirrorAbsent, MirrorDamaged, MirrorBusy.
    """
    with translate_damage(path):
        return _configure_writer(_open_and_check(path, apsw.SQLITE_OPEN_READWRITE))


def create_file(path: Path, analysis: Analysis = STEMMED) -> apsw.Connection:
    """Create an empty mirror at a fresh path, indexed by `analysis`, and open it for writing."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    try:
        register_tokenizer(connection)
        connection.pragma("journal_mode", "wal")
        _configure_writer(connection).execute(schema.create_sql(analysis))
        connection.pragma("user_version", schema.FILE_VERSION)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def empty_mirror() -> Iterator[apsw.Connection]:
    """Open an empty in-memory mirror; creating it takes a millisecond."""
    connection = create_file(Path(":memory:"))
    try:
        register_bm25(connection)
        yield connection
    finally:
        connection.close()


def open_reader(path: Path) -> apsw.Connection:
    """Open a mirror read-only. Raises as `open_writer`."""
    with translate_damage(path), translate_io_errors(path):
        connection = _open_and_check(path, apsw.SQLITE_OPEN_READONLY)
        connection.pragma("query_only", True)
        # With mmap a search in 180,000 chunks takes 2.8 ms instead of 3.3, but the process grows by the whole
        # file.
        connection.pragma("cache_size", -4_000)
    return connection


def _configure_writer(connection: apsw.Connection) -> apsw.Connection:
    connection.set_busy_timeout(_BUSY_TIMEOUT_MS)
    connection.pragma("synchronous", "normal")
    connection.pragma("foreign_keys", True)
    connection.pragma("secure_delete", True)
    connection.pragma("journal_size_limit", 64 * 2**20)
    connection.pragma("cache_size", -64_000)
    return connection


def _open_and_check(path: Path, flags: int) -> apsw.Connection:
    try:
        connection = apsw.Connection(str(path), flags=flags)
        # The first read already has to wait while another connection recovers or closes the write-ahead log.
        connection.set_busy_timeout(_BUSY_TIMEOUT_MS)
        version = connection.pragma("user_version")
    except apsw.CantOpenError as error:
        raise MirrorAbsent(f"The mirror file {path.name} is gone.") from error
    except (apsw.BusyError, apsw.LockedError, apsw.ReadOnlyError) as error:
        raise MirrorBusy(f"The mirror file {path.name} is in use: {error}") from error
    if version != schema.FILE_VERSION:
        connection.close()
        raise MirrorOutdated(
            f"{path.name} has schema {version}; this code reads {schema.FILE_VERSION}.", why="schema"
        )
    register_tokenizer(connection)
    register_bm25(connection)
    return connection


class ReaderPool:
    """A pool of idle read-only connections by file, least recently used closed first. Safe for threads.

    A connection is used by one thread at a time and never carried over a fork.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # By connection: the folder of its workspace, its file, and the monotonic time since which it is idle.
        self._readers: OrderedDict[apsw.Connection, tuple[Path, Path, float]] = OrderedDict()
        self._swept_s = time.monotonic()
        #: Collections that recent queries ranked among.
        self.collections = CollectionCache()

    @contextmanager
    def reader(self, path: Path) -> Iterator[apsw.Connection]:
        """Lend a reader of `path`, and close it instead of taking it back after an error.

        Raises MirrorAbsent, MirrorOutdated; MirrorDamaged and MirrorBusy also while in use.
        """
        folder = path.parent
        with MirrorFiles(folder).read_lock():
            connection = self._take(folder, path) or open_reader(path)
            try:
                with translate_damage(path), translate_io_errors(path):
                    yield connection
            except BaseException:
                connection.close()
                raise
        self._give_back(connection, folder, path)

    def _take(self, folder: Path, path: Path) -> apsw.Connection | None:
        with self._lock:
            of_workspace = {c: file for c, (parent, file, _) in self._readers.items() if parent == folder}
            replaced = [c for c, other in of_workspace.items() if other != path]
            taken = next((c for c in reversed(of_workspace) if of_workspace[c] == path), None)
            for connection in [*replaced, *([taken] if taken is not None else [])]:
                del self._readers[connection]
        for connection in replaced:
            connection.close()
        return taken

    def _give_back(self, connection: apsw.Connection, folder: Path, path: Path) -> None:
        now = time.monotonic()
        with self._lock:
            self._readers[connection] = folder, path, now
            self._release_memory()
            surplus = [self._readers.popitem(last=False)[0]] if len(self._readers) > _IDLE_READERS else []
            surplus += self._pop_expired(now)
        for each in surplus:
            each.close()

    def _release_memory(self) -> None:
        """Free the page cache of the reader that just left the warm ones, under the lock."""
        others = len(self._readers) - _WARM_READERS
        if others > 0:
            next(islice(self._readers, others - 1, None)).pragma("shrink_memory")

    def _pop_expired(self, now: float) -> list[apsw.Connection]:
        """Remove and return readers that were idle too long or whose file is gone, at most once a minute."""
        if now - self._swept_s < _SWEEP_EVERY_S:
            return []
        self._swept_s = now
        readers = self._readers.items()
        outdated = [c for c, (_, path, since) in readers if now - since > _IDLE_S or not path.exists()]
        for connection in outdated:
            del self._readers[connection]
        return outdated

    def close(self) -> None:
        """Close all idle readers."""
        with self._lock:
            readers = list(self._readers)
            self._readers.clear()
        for connection in readers:
            connection.close()
