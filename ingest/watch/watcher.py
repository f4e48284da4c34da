"""The watcher of source folders, which requests their syncs.

The kernel reports changes (watchfiles: inotify on Linux). Network file systems report none, and a kernel may
run out of watches: so each watched folder is listed every quarter of an hour in any case.
"""

import logging
import stat
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path, PurePath
from types import TracebackType
from typing import Final, Self

import psycopg
from django.db import Error, close_old_connections, connection
from django.db.models import Q
from django.db.models.functions import Now
from watchfiles import Change, watch

from ingest.jobs.queue.request import request_sync
from ingest.models import OPEN_STATES, Job, JobKind
from kebab.tenancy.current_workspace import acting_everywhere
from search.models import Source, SourceKind

# First half of the lock's key; the source's hash is the second. No other lock of Kebab has this number.
_CLASS: Final = 0x6B77


class SourceLocks:
    """Locks of the sources that this process watches; no other may while this connection is open."""

    def __init__(self) -> None:
        parameters = connection.get_connection_params()
        parameters = {k: v for k, v in parameters.items() if k not in {"cursor_factory", "context", "pool"}}
        self._connection = psycopg.connect(**parameters, autocommit=True)
        self._held: set[uuid.UUID] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def hold_only(self, wanted: Iterable[uuid.UUID]) -> set[uuid.UUID]:
        """Unlock other sources, lock the free ones of `wanted`, and return those that are locked.

        Raises psycopg.Error when the connection, and every lock with it, is gone.
        """
        wanted = set(wanted)
        for source_id in self._held - wanted:
            self._connection.execute("SELECT pg_advisory_unlock(%s, %s)", (_CLASS, _lock_key(source_id)))
        taken = {source_id for source_id in wanted - self._held if self._try_lock(source_id)}
        self._held = (self._held & wanted) | taken
        self._connection.execute("SELECT 1")  # to notice a connection that is gone
        return set(self._held)

    def _try_lock(self, source_id: uuid.UUID) -> bool:
        row = self._connection.execute("SELECT pg_try_advisory_lock(%s, %s)", (_CLASS, _lock_key(source_id)))
        found = row.fetchone()
        return found is not None and bool(found[0])


def _lock_key(source_id: uuid.UUID) -> int:
    """Return 31 bits of the id; sources that share them are watched by the same node."""
    return source_id.int & 0x7FFFFFFF


logger = logging.getLogger(__name__)

#: `requested_by` of its jobs.
REQUESTED_BY: Final = "watch"
#: Least pause between two syncs of a folder that keeps changing.
LEAST_PAUSE_S: Final = 5.0
#: Period of full listings without a change.
LISTING_PERIOD: Final = timedelta(minutes=15)
# Interval of queries for the watched sources.
_CHECK_S: Final = 5.0
# Changes closer together than the step are reported together, for as long as the debounce at most.
_STEP_MS: Final = 100
_DEBOUNCE_MS: Final = 1_000
_TICK_MS: Final = 500
_PAUSE_S: Final = 2.0
#: Folders that every listing leaves out, and that change often.
_NEVER_READ: Final = frozenset({".git", ".hg", ".svn", "__pycache__"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderIdentity:
    """The identity of an existing folder; another folder at the same path is not equal."""

    path: Path
    device: int
    inode: int

    @classmethod
    def at(cls, path: Path) -> Self | None:
        """Return the identity of the folder at `path`; None when there is none, or it can't be read."""
        try:
            status = path.stat()
        except OSError:
            return None
        is_folder = stat.S_ISDIR(status.st_mode)
        return cls(path=path, device=status.st_dev, inode=status.st_ino) if is_folder else None


class FolderWatcher:
    """A watcher that runs until `stop` is set; losing Postgres, or a folder, only delays it."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self._requested_at: dict[uuid.UUID, float] = {}
        self._changed: set[uuid.UUID] = set()
        # A folder that can't be watched is only listed periodically, until its identity changes.
        self._unwatchable: set[Path] = set()

    def run(self) -> None:
        """Watch until stopped."""
        while not self._stop.is_set():
            try:
                with acting_everywhere(), SourceLocks() as locks:
                    watched: dict[uuid.UUID, FolderIdentity] = {}
                    while not self._stop.is_set():
                        known, watched = watched, self._acquire_folders(locks)
                        # Changes before the watch began are unknown, so new folders count as changed.
                        self._changed |= watched.keys() - known.keys()
                        self._changed &= watched.keys()
                        self._watch_folders(watched, locks)
            except (Error, psycopg.Error, OSError) as error:
                logger.warning("folders can't be watched at the moment: %s", error)
                self._stop.wait(_PAUSE_S)
            finally:
                close_old_connections()
                connection.close()

    def _acquire_folders(self, locks: SourceLocks) -> dict[uuid.UUID, FolderIdentity]:
        sources = Source.objects.filter(watch=True, kind=SourceKind.FOLDER).order_by("workspace", "key")
        found = {source.pk: FolderIdentity.at(Path(source.config["path"])) for source in sources}
        present = {source_id: folder for source_id, folder in found.items() if folder is not None}
        held = locks.hold_only(present)
        return {source_id: folder for source_id, folder in present.items() if source_id in held}

    def _watch_folders(self, watched: Mapping[uuid.UUID, FolderIdentity], locks: SourceLocks) -> None:
        """Watch these folders until the set of folders to watch changes."""
        folders = {folder.path for folder in watched.values()}
        self._unwatchable &= folders
        check_at = time.monotonic() + _CHECK_S
        for changes in self._changes(folders):
            self._changed |= set(_changed_sources(changes, watched))
            self._request_due_syncs(watched)
            if any(Path(place) in folders for _, place in changes):
                return  # a folder was deleted, and its watch ended
            if time.monotonic() > check_at:
                check_at = time.monotonic() + _CHECK_S
                self._changed |= _overdue_sources(watched)
                close_old_connections()
                if self._acquire_folders(locks) != watched:
                    return

    def _changes(self, folders: Iterable[Path]) -> Iterator[set[tuple[Change, str]]]:
        """Yield sets of changes, an empty one every half second; end when the watch must be restarted."""
        watchable = sorted({folder for folder in folders if folder not in self._unwatchable})
        if not watchable:
            while not self._stop.wait(_TICK_MS / 1000):
                yield set()
            return
        try:
            yield from watch(
                *watchable,
                watch_filter=None,
                debounce=_DEBOUNCE_MS,
                step=_STEP_MS,
                rust_timeout=_TICK_MS,
                yield_on_timeout=True,
                stop_event=self._stop,
                raise_interrupt=False,
                ignore_permission_denied=True,
            )
        except (OSError, RuntimeError) as error:  # RuntimeError comes from the library's own core
            # Only the last folder is given up: the others may still fit.
            if all(folder.is_dir() for folder in watchable):
                logger.warning("%s is listed every quarter of an hour, not watched: %s", watchable[-1], error)
                self._unwatchable.add(watchable[-1])

    def _request_due_syncs(self, watched: Mapping[uuid.UUID, FolderIdentity]) -> None:
        """Request syncs of changed sources, of each one every LEAST_PAUSE_S at most."""
        now = time.monotonic()
        due = [
            id_ for id_ in self._changed if now - self._requested_at.get(id_, -LEAST_PAUSE_S) >= LEAST_PAUSE_S
        ]
        for source_id in due:
            self._changed.discard(source_id)
            if watched[source_id].path.is_dir():  # a sync of a deleted folder would only fail
                self._requested_at[source_id] = now
                _request_sync(source_id)


def _overdue_sources(watched: Mapping[uuid.UUID, FolderIdentity]) -> set[uuid.UUID]:
    """Return the sources not listed for LISTING_PERIOD that have no open sync."""
    long_ago = Q(last_sync_at__isnull=True) | Q(last_sync_at__lt=Now() - LISTING_PERIOD)
    overdue = Source.objects.filter(long_ago, pk__in=list(watched))
    syncs = Job.objects.filter(
        kind=JobKind.SYNC_SOURCE, state__in=OPEN_STATES, source__in=overdue.values("pk")
    )
    return set(overdue.values_list("pk", flat=True)) - set(syncs.values_list("source", flat=True))


def _changed_sources(
    changes: set[tuple[Change, str]], watched: Mapping[uuid.UUID, FolderIdentity]
) -> Iterator[uuid.UUID]:
    places = [PurePath(path) for _, path in changes]
    for source_id, folder in watched.items():
        inner = (place.relative_to(folder.path) for place in places if place.is_relative_to(folder.path))
        if any(_NEVER_READ.isdisjoint(path.parts) for path in inner):
            yield source_id


def _request_sync(source_id: uuid.UUID) -> None:
    source = Source.objects.filter(pk=source_id, watch=True).first()
    if source is None:
        return
    try:
        request_sync(source, requested_by=REQUESTED_BY)
    except Source.DoesNotExist:
        logger.info("source %s went while it was watched", source_id)
