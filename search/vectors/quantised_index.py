"""The codes that this process scans: mapped from this node's files, brought up to date with each search.

A space's first file is made beside the searches that are slow without it, as is the next when much has been
written since; meanwhile PostgreSQL compares. A search whose space and log stand where the last one found them
asks the database nothing.
"""

import logging
import shutil
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Lock

from django.conf import settings
from django.db import Error, connection

from kebab.people.models import Workspace
from kebab.runtime.context_executor import ContextThreads
from search.access.scope import Scope
from search.mirror import local_mirrors
from search.models import EmbeddingSpace, SpaceState
from search.vectors.quantised import BLOCK, Codes, CodeTable, code_table, joined_tables, stacked_tables
from search.vectors.quantised_file import SUFFIX, read_codes, remove_drafts, write_codes
from search.vectors.quantised_rows import Place, Rows, all_rows, has_at_least, present_place, rows_since
from search.vectors.spaces import LiveSpace, live_form

logger = logging.getLogger(__name__)

# Spaces that a process has mapped, and how long without a search.
_MOST_HELD = 64
_IDLE_S = 600.0
# The file is made anew when a quarter of it, and this many vectors, have been written since.
_NEW_SHARE = 0.25
_NEW_LEAST = 4_096
# Pieces that came one by one are put together: each costs a search a call.
_MOST_TABLES = 8
# What is written between two searches and more than that is read beside them.
_MOST_AT_ONCE = 16_384
# Until a space that is small, or whose file could not be written, is looked at again.
_LEFT_FOR_S = 30.0


@dataclass(slots=True)
class Held:
    """One space's codes; its lock is held while the database is asked what is new."""

    base: CodeTable
    place: Place
    file_mark: tuple[int, int]
    since: list[CodeTable] = field(default_factory=list)
    #: The epoch and the change that it has been brought up to.
    seen: tuple[int, int] = (-1, -1)
    used_s: float = field(default_factory=time.monotonic)
    lock: Lock = field(default_factory=Lock)

    @property
    def codes(self) -> Codes:
        """Return what to scan."""
        return Codes((self.base, *self.since))

    @property
    def is_outgrown(self) -> bool:
        """Return whether its file should be made anew."""
        return sum(map(len, self.since)) > max(_NEW_LEAST, _NEW_SHARE * len(self.base))

    def add(self, rows: Rows) -> None:
        """Take in what was written since; a piece costs memory, and time of each search, as a block does."""
        if not len(rows.ids):
            return
        pieces = [*self.since, code_table(rows.ids, rows.vectors)]
        if sum(map(len, pieces[-2:])) <= BLOCK:
            pieces[-2:] = [joined_tables(pieces[-2:])]
        self.since = pieces if len(pieces) <= _MOST_TABLES else [joined_tables(pieces)]


class CodesOfSpaces:
    """The codes that a process has mapped. Safe for threads."""

    def __init__(self, folder_of: Callable[[uuid.UUID], Path]) -> None:
        """`folder_of` gives a workspace's folder on this node, where its mirror lies too."""
        self._folder_of = folder_of
        self._held: OrderedDict[int, Held] = OrderedDict()
        self._left_until: dict[int, float] = {}
        self._making: set[int] = set()
        self._lock = Lock()
        self._threads = ContextThreads(1, thread_name_prefix="codes")

    def codes(self, scope: Scope, space: LiveSpace) -> Codes | None:
        """Return the codes of a space with all that was written before the search; None: it has none now."""
        held = self._take(space.space_id)
        if held is None or held.file_mark != _mark(self._path(scope.workspace_id, space)):
            self._forget(space.space_id)  # its workspace is gone, its file removed, or made anew by another
            held = self._open(scope.workspace_id, space)
        if held is None:
            return None
        if not self._bring_up(held, scope.workspace_id, space, scope.head_seq):
            self._forget(space.space_id)
            self._make_beside(scope.workspace_id, space)
            return None
        if held.is_outgrown:
            self._make_beside(scope.workspace_id, space)
        return held.codes

    def want(self, scope: Scope, space: LiveSpace) -> None:
        """Have a thread make a space's file, if it has none: a search was slow without."""
        if space.space_id not in self._held:
            self._make_beside(scope.workspace_id, space)

    def prepare(self, workspace: Workspace, space: LiveSpace) -> None:
        """Make a space's file, unless it has one that is nearly whole, before a search is slow without it."""
        held = self._take(space.space_id) or self._open(workspace.pk, space)
        is_near = held is not None and self._bring_up(held, workspace.pk, space, workspace.head_seq)
        if held is None or not is_near or held.is_outgrown:
            self.make(workspace.pk, space)

    def make(self, workspace_id: uuid.UUID, space: LiveSpace) -> None:
        """Read a space from the database and write its file; nothing for one that is small."""
        path = self._path(workspace_id, space)
        if not has_at_least(workspace_id, space, settings.KEBAB_CODES_FROM):
            self.remove(workspace_id, space)
            return
        held = self._take(space.space_id)
        if held is None or held.file_mark == _mark(path):  # else another process has made it meanwhile
            try:
                _write(path, workspace_id, space)
            except OSError as error:
                self._leave(space.space_id)
                logger.warning("codes of space %s can't be written: %s", space.space_id, error)
                return
            if not Workspace.objects.filter(pk=workspace_id).exists():
                # Its folder went with it, and was made again to write: only who looks after that can tell.
                self._forget(space.space_id)
                shutil.rmtree(self._folder_of(workspace_id), ignore_errors=True)
                return
            self._remove_others(workspace_id)
        self._forget(space.space_id)
        self._open(workspace_id, space)

    def remove(self, workspace_id: uuid.UUID, space: LiveSpace) -> None:
        """Remove a space's file, which is of no use any more, and let go of it."""
        self._path(workspace_id, space).unlink(missing_ok=True)
        self._leave(space.space_id)

    def _bring_up(self, held: Held, workspace_id: uuid.UUID, space: LiveSpace, head_seq: int) -> bool:
        """Take in what is new; False: that is too much, or the database is another than it was made from."""
        wanted = (space.epoch, head_seq)
        if held.seen == wanted:
            return True
        with held.lock:
            rows, now = rows_since(workspace_id, space, held.place, limit=_MOST_AT_ONCE)
            if not held.place.is_before(now) or len(rows.ids) == _MOST_AT_ONCE:
                return False
            held.add(rows)
            held.place, held.seen = now, wanted
        return True

    def _take(self, space_id: int) -> Held | None:
        now = time.monotonic()
        with self._lock:
            for other in [id_ for id_, held in self._held.items() if now - held.used_s > _IDLE_S]:
                del self._held[other]
            held = self._held.get(space_id)
            if held is not None:
                held.used_s = now
                self._held.move_to_end(space_id)
            return held

    def _open(self, workspace_id: uuid.UUID, space: LiveSpace) -> Held | None:
        path = self._path(workspace_id, space)
        mark = _mark(path)
        found = read_codes(path)
        if found is None or mark is None:
            return None
        held = Held(base=found[0], place=Place(**found[1]), file_mark=mark)
        with self._lock:
            self._held[space.space_id] = held
            while len(self._held) > _MOST_HELD:
                self._held.popitem(last=False)
        return held

    def _forget(self, space_id: int) -> None:
        with self._lock:
            self._held.pop(space_id, None)

    def _leave(self, space_id: int) -> None:
        """Let go of a space, and make nothing of it for a while."""
        now = time.monotonic()
        with self._lock:
            self._held.pop(space_id, None)
            self._left_until = {id_: until for id_, until in self._left_until.items() if until > now}
            self._left_until[space_id] = now + _LEFT_FOR_S

    def _make_beside(self, workspace_id: uuid.UUID, space: LiveSpace) -> None:
        with self._lock:
            is_left = self._left_until.get(space.space_id, 0.0) > time.monotonic()
            if is_left or space.space_id in self._making:
                return
            self._making.add(space.space_id)
        self._threads.submit(self._made, workspace_id, space)

    def _made(self, workspace_id: uuid.UUID, space: LiveSpace) -> None:
        try:
            self.make(workspace_id, space)
        except Exception:
            self._leave(space.space_id)
            logger.exception("codes of space %s could not be made", space.space_id)
        finally:
            with self._lock:
                self._making.discard(space.space_id)
            connection.close()

    def _remove_others(self, workspace_id: uuid.UUID) -> None:
        """Remove files of spaces that are no more or have an index, and what a killed process has left."""
        scanned = EmbeddingSpace.objects.in_workspace(workspace_id).filter(is_indexed=False)
        names = {f"{pk}{SUFFIX}" for pk in scanned.values_list("pk", flat=True)}
        for path in self._folder_of(workspace_id).glob(f"*{SUFFIX}"):
            if path.name not in names:
                path.unlink(missing_ok=True)
        remove_drafts(self._folder_of(workspace_id))

    def _path(self, workspace_id: uuid.UUID, space: LiveSpace) -> Path:
        return self._folder_of(workspace_id) / f"{space.space_id}{SUFFIX}"


def prepare_codes(space: EmbeddingSpace) -> None:
    """Have this node's codes of a space that has got its vectors ready for the first search; never fails.

    Those of a space that has an index by now go.
    """
    present = EmbeddingSpace.objects.select_related("workspace").get(pk=space.pk)
    if present.state != SpaceState.LIVE:
        return
    try:
        if present.is_indexed:
            codes_of_spaces().remove(present.workspace_id, live_form(present))
        else:
            codes_of_spaces().prepare(present.workspace, live_form(present))
    except (Error, OSError):
        logger.exception("codes of space %s could not be made", space.pk)


@cache
def codes_of_spaces() -> CodesOfSpaces:
    """Return this process's codes."""
    return CodesOfSpaces(lambda workspace_id: local_mirrors.mirror_files(workspace_id).directory)


def _write(path: Path, workspace_id: uuid.UUID, space: LiveSpace) -> None:
    place = present_place()
    tables = [code_table(rows.ids, rows.vectors) for rows in all_rows(workspace_id, space)]
    if tables:  # else all have been deleted a moment ago
        write_codes(path, stacked_tables(tables), place.as_json())


def _mark(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from the one that it replaces."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns
