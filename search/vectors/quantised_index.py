"""The codes that this process scans: mapped from this node's files, updated by each search.

A space's file is built in the background after a slow search without one, and again after many writes;
meanwhile PostgreSQL compares. A search with the same epoch and head as the last one needs no database query.
"""

import logging
import shutil
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from threading import Lock

from django.conf import settings
from django.db import Error, connection

from kebab.identity.models import Workspace
from kebab.runtime.context_executor import ContextExecutor
from search.access.scope import SearchScope
from search.mirror import local_mirrors
from search.models import EmbeddingSpace, SpaceState
from search.vectors.quantised_file import SUFFIX, delete_drafts, read_codes, write_codes
from search.vectors.quantised_rows import (
    SnapshotPosition,
    VectorRows,
    current_position,
    has_at_least,
    read_all_rows,
    read_rows_since,
)
from search.vectors.quantised_scan import Codes, CodeTable, encode_vectors, merge_tables
from search.vectors.spaces import LiveSpace, to_live_space

logger = logging.getLogger(__name__)

# Limit of mapped spaces per process, and the idle time after which they are closed.
_MOST_HELD = 64
_IDLE_S = 600.0
# The file is rebuilt when a quarter of its size, and this many vectors, have been written since.
_NEW_SHARE = 0.25
_NEW_LEAST = 4_096
# More pieces than this are merged: each costs a search one call.
_MOST_TABLES = 8
# Pieces of up to this many vectors together are merged at once.
_SMALL = 4_096
# New vectors that a search reads itself; more are read in the background.
_MOST_AT_ONCE = 16_384
# Time before a small space, or one whose file couldn't be written, is tried again.
_LEFT_FOR_S = 30.0


@dataclass(slots=True)
class OpenCodes:
    """The codes of one space; its lock is held during the query for new vectors."""

    base: CodeTable
    place: SnapshotPosition
    path: Path
    file_identity: tuple[int, int]
    since: list[CodeTable] = field(default_factory=list)
    #: The epoch of the space and the head of the log at the last update.
    seen: tuple[int, tuple[int, int] | None] = (-1, None)
    used_s: float = field(default_factory=time.monotonic)
    lock: Lock = field(default_factory=Lock)

    @property
    def codes(self) -> Codes:
        """Return the codes to scan."""
        return Codes((self.base, *self.since))

    @property
    def is_outgrown(self) -> bool:
        """Return whether its file should be rebuilt."""
        return sum(map(len, self.since)) > max(_NEW_LEAST, _NEW_SHARE * len(self.base))

    def add(self, rows: VectorRows) -> None:
        """Add new vectors; small pieces are merged, as a scan of each takes a call."""
        if not len(rows.ids):
            return
        pieces = [*self.since, encode_vectors(rows.ids, rows.vectors)]
        if sum(map(len, pieces[-2:])) <= _SMALL:
            pieces[-2:] = [merge_tables(pieces[-2:])]
        self.since = pieces if len(pieces) <= _MOST_TABLES else [merge_tables(pieces)]


class CodeCache:
    """A cache of the codes that a process has mapped. Safe for threads."""

    def __init__(self, folder_of: Callable[[uuid.UUID], Path]) -> None:
        """Create a cache; `folder_of` returns a workspace's folder on this node, that of its mirror."""
        self._folder_of = folder_of
        self._open_codes: OrderedDict[int, OpenCodes] = OrderedDict()
        self._suspended_until: dict[int, float] = {}
        self._building: set[int] = set()
        self._lock = Lock()
        self._threads = ContextExecutor(1, thread_name_prefix="codes")

    def codes(self, scope: SearchScope, space: LiveSpace) -> Codes | None:
        """Return the codes of a space with all vectors written before the search; None without codes."""
        entry = self._get(space.space_id)
        if entry is None or entry.file_identity != _file_identity(entry.path):
            self._close(space.space_id)  # the file was deleted, or rebuilt by another process
            entry = self._open(scope.workspace_id, space)
        if entry is None:
            return None
        if not self._catch_up(entry, scope.workspace_id, space, scope.head):
            self._close(space.space_id)
            self._build_in_background(scope.workspace_id, space)
            return None
        if entry.is_outgrown:
            self._build_in_background(scope.workspace_id, space)
        return entry.codes

    def request(self, scope: SearchScope, space: LiveSpace) -> None:
        """Build a space's file in the background, if it has none, after a slow search."""
        if space.space_id not in self._open_codes:
            self._build_in_background(scope.workspace_id, space)

    def prepare(self, workspace: Workspace, space: LiveSpace) -> None:
        """Build a space's file, unless it has one that is nearly complete, before searches need it."""
        entry = self._get(space.space_id) or self._open(workspace.pk, space)
        is_near = entry is not None and self._catch_up(entry, workspace.pk, space, None)
        if entry is None or not is_near or entry.is_outgrown:
            self.build(workspace.pk, space)

    def build(self, workspace_id: uuid.UUID, space: LiveSpace) -> None:
        """Read a space from the database and write its file; delete the file of a small space."""
        path = self._path(workspace_id, space)
        if not has_at_least(workspace_id, space, settings.KEBAB_CODES_FROM):
            self.delete(workspace_id, space)
            return
        entry = self._get(space.space_id)
        if entry is None or entry.file_identity == _file_identity(path):  # else another process has built it
            try:
                _write(path, workspace_id, space)
            except OSError as error:
                self._suspend(space.space_id)
                logger.warning("codes of space %s can't be written: %s", space.space_id, error)
                return
            if not Workspace.objects.filter(pk=workspace_id).exists():
                # The folder was deleted with the workspace, and the write has created it again.
                self._close(space.space_id)
                shutil.rmtree(self._folder_of(workspace_id), ignore_errors=True)
                return
            self._delete_orphaned(workspace_id)
        self._close(space.space_id)
        self._open(workspace_id, space)

    def delete(self, workspace_id: uuid.UUID, space: LiveSpace) -> None:
        """Delete a space's file, and close its codes."""
        self._path(workspace_id, space).unlink(missing_ok=True)
        self._suspend(space.space_id)

    def _catch_up(
        self, entry: OpenCodes, workspace_id: uuid.UUID, space: LiveSpace, head: tuple[int, int] | None
    ) -> bool:
        """Add new vectors; return False if they are too many, or the database has been restored."""
        target = (space.epoch, head)
        if head is not None and entry.seen == target:
            return True
        with entry.lock:
            rows, now = read_rows_since(workspace_id, space, entry.place, limit=_MOST_AT_ONCE)
            if not entry.place.is_before(now) or len(rows.ids) == _MOST_AT_ONCE:
                return False
            entry.add(rows)
            entry.place, entry.seen = now, target
        return True

    def _get(self, space_id: int) -> OpenCodes | None:
        now = time.monotonic()
        with self._lock:
            for other in [id_ for id_, entry in self._open_codes.items() if now - entry.used_s > _IDLE_S]:
                del self._open_codes[other]
            entry = self._open_codes.get(space_id)
            if entry is not None:
                entry.used_s = now
                self._open_codes.move_to_end(space_id)
            return entry

    def _open(self, workspace_id: uuid.UUID, space: LiveSpace) -> OpenCodes | None:
        path = self._path(workspace_id, space)
        identity = _file_identity(path)
        found = read_codes(path)
        if found is None or identity is None:
            return None
        place = SnapshotPosition(**found[1])
        entry = OpenCodes(base=found[0], place=place, path=path, file_identity=identity)
        with self._lock:
            self._open_codes[space.space_id] = entry
            while len(self._open_codes) > _MOST_HELD:
                self._open_codes.popitem(last=False)
        return entry

    def _close(self, space_id: int) -> None:
        with self._lock:
            self._open_codes.pop(space_id, None)

    def _suspend(self, space_id: int) -> None:
        """Close a space's codes, and don't build them for a while."""
        now = time.monotonic()
        with self._lock:
            self._open_codes.pop(space_id, None)
            self._suspended_until = {
                id_: until for id_, until in self._suspended_until.items() if until > now
            }
            self._suspended_until[space_id] = now + _LEFT_FOR_S

    def _build_in_background(self, workspace_id: uuid.UUID, space: LiveSpace) -> None:
        with self._lock:
            is_suspended = self._suspended_until.get(space.space_id, 0.0) > time.monotonic()
            if is_suspended or space.space_id in self._building:
                return
            self._building.add(space.space_id)
        self._threads.submit(self._build_and_log, workspace_id, space)

    def _build_and_log(self, workspace_id: uuid.UUID, space: LiveSpace) -> None:
        try:
            self.build(workspace_id, space)
        except Exception:
            self._suspend(space.space_id)
            logger.exception("codes of space %s could not be made", space.space_id)
        finally:
            with self._lock:
                self._building.discard(space.space_id)
            connection.close()

    def _delete_orphaned(self, workspace_id: uuid.UUID) -> None:
        """Delete files of deleted or indexed spaces, and drafts of killed processes."""
        scanned = EmbeddingSpace.objects.in_workspace(workspace_id).filter(is_indexed=False)
        names = {f"{pk}{SUFFIX}" for pk in scanned.values_list("pk", flat=True)}
        for path in self._folder_of(workspace_id).glob(f"*{SUFFIX}"):
            if path.name not in names:
                path.unlink(missing_ok=True)
        delete_drafts(self._folder_of(workspace_id))

    def _path(self, workspace_id: uuid.UUID, space: LiveSpace) -> Path:
        return self._folder_of(workspace_id) / f"{space.space_id}{SUFFIX}"


def prepare_codes(space: EmbeddingSpace) -> None:
    """Build this node's codes of a newly filled space before its first search; errors are only logged.

    Codes of a space that has an index are deleted.
    """
    present = EmbeddingSpace.objects.select_related("workspace").get(pk=space.pk)
    if present.state != SpaceState.LIVE:
        return
    try:
        if present.is_indexed:
            code_cache().delete(present.workspace_id, to_live_space(present))
        else:
            code_cache().prepare(present.workspace, to_live_space(present))
    except (Error, OSError):
        logger.exception("codes of space %s could not be made", space.pk)


@cache
def code_cache() -> CodeCache:
    """Return this process's cache of codes."""
    return CodeCache(lambda workspace_id: local_mirrors.mirror_files(workspace_id).directory)


def _write(path: Path, workspace_id: uuid.UUID, space: LiveSpace) -> None:
    place = current_position()
    tables = [encode_vectors(rows.ids, rows.vectors) for rows in read_all_rows(workspace_id, space)]
    if tables:  # else all vectors have just been deleted
        write_codes(path, tables, asdict(place))


def _file_identity(path: Path) -> tuple[int, int] | None:
    """Return inode and modification time, which distinguish a file from its replacement."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns
