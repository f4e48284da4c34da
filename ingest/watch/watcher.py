"""Watches the folders of sources that want it, and asks for their syncs.

The kernel says what changed (watchfiles: inotify on Linux). Network file systems say nothing, and a kernel
may run out of watches: so each watched folder is listed every quarter of an hour whatever happens.
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
from typing import Final, Self

import psycopg
from django.db import Error, close_old_connections, connection
from django.db.models import Q
from django.db.models.functions import Now
from watchfiles import Change, watch

from ingest.jobs.queue.request import request_sync
from ingest.models import OPEN_STATES, Job, JobKind
from ingest.watch.locks import SourceLocks
from kebab.tenancy.current_workspace import acting_everywhere
from search.models import Source, SourceKind

logger = logging.getLogger(__name__)

#: Who asks, in the jobs.
REQUESTED_BY: Final = "watch"
#: What a change may take to be asked about while a folder keeps changing.
LEAST_PAUSE_S: Final = 5.0
#: The full listing that needs no change.
LISTING_PERIOD: Final = timedelta(minutes=15)
# How often Postgres is asked which sources are watched.
_LOOK_S: Final = 5.0
# Changes closer together than the step come together, for as long as the debounce at most.
_STEP_MS: Final = 100
_DEBOUNCE_MS: Final = 1_000
_TICK_MS: Final = 500
_PAUSE_S: Final = 2.0
#: Always left out of a listing, and busy.
_NEVER_READ: Final = frozenset({".git", ".hg", ".svn", "__pycache__"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder that is there; another one that takes its place is not equal to it."""

    path: Path
    device: int
    inode: int

    @classmethod
    def at(cls, path: Path) -> Self | None:
        """Return the folder at `path`, None when there is none that can be looked at."""
        try:
            status = path.stat()
        except OSError:
            return None
        is_folder = stat.S_ISDIR(status.st_mode)
        return cls(path=path, device=status.st_dev, inode=status.st_ino) if is_folder else None


class FolderWatcher:
    """Watches until `stop` is set; losing Postgres, or a folder, only delays it."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self._asked_at: dict[uuid.UUID, float] = {}
        self._changed: set[uuid.UUID] = set()
        # A folder that can't be watched is listed by the clock alone, until it is another one.
        self._unwatchable: set[Path] = set()

    def run(self) -> None:
        """Watch until stopped."""
        while not self._stop.is_set():
            try:
                with acting_everywhere(), SourceLocks() as locks:
                    self._watch_while_connected(locks)
            except (Error, psycopg.Error, OSError) as error:
                logger.warning("folders can't be watched at the moment: %s", error)
                self._stop.wait(_PAUSE_S)
            finally:
                close_old_connections()
                connection.close()

    def _watch_while_connected(self, locks: SourceLocks) -> None:
        watched: dict[uuid.UUID, Folder] = {}
        while not self._stop.is_set():
            known, watched = watched, self._watched(locks)
            # Nobody saw what changed in them before.
            self._changed |= watched.keys() - known.keys()
            self._changed &= watched.keys()
            self._watch(watched, locks)

    def _watched(self, locks: SourceLocks) -> dict[uuid.UUID, Folder]:
        sources = Source.objects.filter(watch=True, kind=SourceKind.FOLDER).order_by("workspace", "key")
        found = {source.pk: Folder.at(Path(source.config["path"])) for source in sources}
        present = {source_id: folder for source_id, folder in found.items() if folder is not None}
        held = locks.hold_only(present)
        return {source_id: folder for source_id, folder in present.items() if source_id in held}

    def _watch(self, watched: Mapping[uuid.UUID, Folder], locks: SourceLocks) -> None:
        """Watch these folders until others are to be watched."""
        folders = {folder.path for folder in watched.values()}
        self._unwatchable &= folders
        look_at = time.monotonic() + _LOOK_S
        for changes in self._changes(folders):
            self._changed |= set(_changed_sources(changes, watched))
            self._ask(watched)
            if any(Path(place) in folders for _, place in changes):
                return  # one of them went, and its watch with it
            if time.monotonic() > look_at:
                look_at = time.monotonic() + _LOOK_S
                self._changed |= _overdue_sources(watched)
                close_old_connections()
                if self._watched(locks) != watched:
                    return

    def _changes(self, folders: Iterable[Path]) -> Iterator[set[tuple[Change, str]]]:
        """Return sets of changes, an empty one every half second; ends when the watch has to begin anew."""
        kept = sorted({folder for folder in folders if folder not in self._unwatchable})
        if not kept:
            while not self._stop.wait(_TICK_MS / 1000):
                yield set()
            return
        try:
            yield from watch(
                *kept,
                watch_filter=None,
                debounce=_DEBOUNCE_MS,
                step=_STEP_MS,
                rust_timeout=_TICK_MS,
                yield_on_timeout=True,
                stop_event=self._stop,
                raise_interrupt=False,
                ignore_permission_denied=True,
            )
        except (OSError, RuntimeError) as error:  # the latter from the library's own core
            self._note_unwatchable(kept, error)

    def _note_unwatchable(self, folders: list[Path], error: Exception) -> None:
        """Leave out the one folder that was to be watched, or of several the last: others may still fit."""
        if all(folder.is_dir() for folder in folders):
            logger.warning("%s is listed every quarter of an hour, not watched: %s", folders[-1], error)
            self._unwatchable.add(folders[-1])

    def _ask(self, watched: Mapping[uuid.UUID, Folder]) -> None:
        """Ask for syncs of what has changed, of one source every few seconds at most."""
        now = time.monotonic()
        due = [id_ for id_ in self._changed if now - self._asked_at.get(id_, -LEAST_PAUSE_S) >= LEAST_PAUSE_S]
        for source_id in due:
            self._changed.discard(source_id)
            if watched[source_id].path.is_dir():  # what has vanished has no sync to fail
                self._asked_at[source_id] = now
                _request(source_id)


def _overdue_sources(watched: Mapping[uuid.UUID, Folder]) -> set[uuid.UUID]:
    """Return the sources that were not listed for long, and are not about to be."""
    long_ago = Q(last_sync_at__isnull=True) | Q(last_sync_at__lt=Now() - LISTING_PERIOD)
    overdue = Source.objects.filter(long_ago, pk__in=list(watched))
    syncs = Job.objects.filter(
        kind=JobKind.SYNC_SOURCE, state__in=OPEN_STATES, source__in=overdue.values("pk")
    )
    return set(overdue.values_list("pk", flat=True)) - set(syncs.values_list("source", flat=True))


def _changed_sources(
    changes: set[tuple[Change, str]], watched: Mapping[uuid.UUID, Folder]
) -> Iterator[uuid.UUID]:
    places = [PurePath(path) for _, path in changes]
    for source_id, folder in watched.items():
        inner = (place.relative_to(folder.path) for place in places if place.is_relative_to(folder.path))
        if any(_NEVER_READ.isdisjoint(path.parts) for path in inner):
            yield source_id


def _request(source_id: uuid.UUID) -> None:
    source = Source.objects.filter(pk=source_id, watch=True).first()
    if source is None:
        return
    try:
        request_sync(source, requested_by=REQUESTED_BY)
    except Source.DoesNotExist:
        logger.info("source %s went while it was watched", source_id)
