"""The mirror process: keeps every mirror of this node current, by notification and by a poll.

A notification names its workspace, which is looked at alone. The poll compares one number of all heads with
the last one, and only where that differs are they read. So a node with 10,000 mirrors that nobody writes to
does next to nothing.
"""

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
from pathlib import Path

import psycopg
from django.conf import settings
from django.db import Error, close_old_connections, connection

from kebab.people.models import Workspace
from search.corpus.changelog import CHANNEL
from search.metrics import SYNC_FAILURES
from search.mirror import connections
from search.mirror.errors import MirrorBusy, MirrorDamaged, MirrorError, SyncTakesLong
from search.mirror.files import MirrorFiles, cold_marks, workspaces_marked, workspaces_on_this_node
from search.mirror.sync import sync
from search.mirror.sync.background import Aside
from search.mirror.sync.eviction import drop_cold
from search.mirror.sync.integrity import DueChecks, check_mirror, remove_copies
from search.mirror.sync.log_heads import Digest, Head, heads_digest, read_heads

logger = logging.getLogger(__name__)

#: The guarantee; a notification only makes it sooner.
POLL_S = 1.0
# Looks at all heads take no more than this share of the time, however many there are.
_SHARE = 0.02
# The least time between two looks while writes go on.
_STEP_S = 0.2
# After so long a step what is behind waits, and what was just heard of is looked at first.
_TURN_S = 1.0
# The longest between two looks at all heads, should one have taken ever so long.
_LOOK_WITHIN_S = 10.0
# After a failed look at Postgres.
_PAUSE_S = 1.0
# Between two tries of a mirror that is not settled: none at first, then twice as long each time.
_LONGEST_RETRY_S = 16.0
# Folders made within this time of a listing may be missing in it: the clock of files is coarse.
_COARSE_S = 0.1
# Between two looks for mirrors that nobody uses.
_COLD_EVERY_S = 300.0

# A database that was brought back to an earlier time, or is another copy by now, has another log under the
# same numbers. By then its server has started anew.
_SERVER = "SELECT pg_postmaster_start_time()::text"


class PresentMirrors:
    """Which workspaces have a mirror below a folder, listed again when something was made or removed."""

    def __init__(
        self, root: Path, listed: Callable[[Path], Iterable[uuid.UUID]] = workspaces_on_this_node
    ) -> None:
        """`listed` gives the workspaces that have something in the folder."""
        self._root = root
        self._listed = listed
        self._listed_ns = 0
        self.ids: frozenset[uuid.UUID] = frozenset()

    def look(self) -> bool:
        """Look again; give whether others are there now."""
        try:
            changed_ns = self._root.stat().st_mtime_ns
        except FileNotFoundError:
            changed_ns = 0
        if changed_ns and changed_ns == self._listed_ns:
            return False
        is_past = time.time_ns() - changed_ns > _COARSE_S * 1e9
        former, self.ids = self.ids, frozenset(self._listed(self._root))
        self._listed_ns = changed_ns if is_past else 0
        return self.ids != former


class MirrorFollower:
    """Follows the log of every workspace that has a mirror below `root`, until `stop` is set."""

    def __init__(self, root: Path, stop: threading.Event) -> None:
        self._root = root
        self._stop = stop
        self._present = PresentMirrors(root)
        self._marked = PresentMirrors(cold_marks(root), workspaces_marked)
        # The number of each mirror, and the analysis that it was asked to have.
        self._applied: dict[uuid.UUID, Head] = {}
        self._heads: dict[uuid.UUID, Head] = {}
        self._behind: dict[uuid.UUID, None] = {}
        # When mirrors that are not settled are tried again, and after how long the last time.
        self._retries: dict[uuid.UUID, tuple[float, float]] = {}
        self._digest: Digest | None = None
        # When the server that the numbers are of has started.
        self._server: str | None = None
        # What notifications named when nothing else is to be looked at now.
        self._heard: set[uuid.UUID] | None = None
        self._look_at = self._cold_at = 0.0
        # Syncs that take long, with the head that each was asked for, and checks.
        self._long: Aside[tuple[Head, sync.SyncReport]] = Aside("mirror-long")
        self._checks: Aside[None] = Aside("mirror-check")
        self._due_checks = DueChecks(root)

    def run(self) -> None:
        """Follow until stopped; losing Postgres only delays it."""
        remove_copies(self._root)
        try:
            self._follow_until_stopped()
        finally:
            self._long.close()
            self._checks.close()

    def _follow_until_stopped(self) -> None:
        while not self._stop.is_set():
            try:
                self._follow_while_connected()
            except (Error, psycopg.Error, OSError) as error:
                logger.warning("mirrors wait for Postgres: %s", error)
                self._stop.wait(_PAUSE_S)
            finally:
                close_old_connections()
                connection.close()

    def _follow_while_connected(self) -> None:
        parameters = connection.get_connection_params()
        parameters = {k: v for k, v in parameters.items() if k not in {"cursor_factory", "context", "pool"}}
        with psycopg.connect(**parameters, autocommit=True) as listener:
            listener.execute(f"LISTEN {CHANNEL}")
            self._expect_other_numbers(listener)
            self._look_at, self._digest = 0.0, None
            while not self._stop.is_set():
                began = time.monotonic()
                if self.catch_up():
                    # What is written in a burst is followed in a few larger steps, a single write at once.
                    self._stop.wait(began + _STEP_S - time.monotonic())
                heard = _heard(listener, 0.0 if self._behind else POLL_S)
                self._heard = heard if heard and time.monotonic() < self._look_at else None
                self._drop_cold()
                self.check_one()

    def _expect_other_numbers(self, listener: psycopg.Connection) -> None:
        """Look at every mirror's own place in the log if that is of another server than the last one was."""
        row = listener.execute(_SERVER).fetchone()
        server = None if row is None else row[0]
        if server != self._server:
            self._applied.clear()
        self._server = server

    def catch_up(self) -> bool:
        """Sync the mirrors of this node that are behind, or some of many; give whether there was one."""
        self._take_long()
        heard, self._heard = self._heard, None
        first = self._look_at_some(heard) if heard is not None else self._look_at_all()
        now = time.monotonic()
        due = [id_ for id_, (at, _) in self._retries.items() if at <= now and id_ not in self._long]
        waiting = dict.fromkeys([*first, *due, *self._behind])
        return self._sync_for_a_while(waiting)

    def _look_at_some(self, heard: set[uuid.UUID]) -> list[uuid.UUID]:
        self._heads.update(read_heads(heard & self._present.ids))
        return [id_ for id_ in heard & self._present.ids if self._is_behind(id_)]

    def _look_at_all(self) -> list[uuid.UUID]:
        began = time.monotonic()
        is_changed = self._present.look()
        digest = heads_digest()
        if is_changed or digest != self._digest:
            self._marked.look()
            heads = read_heads()
            self._heads = {id_: head for id_, head in heads.items() if id_ in self._present.ids}
            self._forget_others()
            for workspace_id in self._marked.ids - heads.keys():
                self._forget(workspace_id)
            self._behind |= {id_: None for id_ in self._heads if self._is_behind(id_)}
        self._digest = digest
        self._look_at = began + min((time.monotonic() - began) / _SHARE, _LOOK_WITHIN_S)
        return []

    def _forget_others(self) -> None:
        for workspace_id in self._present.ids - self._heads.keys():
            self._forget(workspace_id)
        for known in (self._applied, self._behind, self._retries):
            for workspace_id in known.keys() - self._heads.keys():
                known.pop(workspace_id, None)

    def _is_behind(self, workspace_id: uuid.UUID) -> bool:
        return self._applied.get(workspace_id) != self._heads.get(workspace_id)

    def _sync_for_a_while(self, waiting: Iterable[uuid.UUID]) -> bool:
        ends_at, has_synced = time.monotonic() + _TURN_S, False
        for workspace_id in waiting:
            has_synced = True
            self._behind.pop(workspace_id, None)
            if workspace_id in self._heads and workspace_id not in self._long:
                self._sync(workspace_id, self._heads[workspace_id])
            if time.monotonic() > ends_at or self._stop.is_set():
                break
        return has_synced

    def _sync(self, workspace_id: uuid.UUID, head: Head) -> None:
        files = MirrorFiles.of(self._root, workspace_id)
        self._settle(workspace_id, lambda: (head, sync.sync_mirror(files, workspace_id, is_brief=True)))

    def _take_long(self) -> None:
        """Go on with mirrors that were made or followed far beside."""
        for workspace_id, synced in self._long.ended():
            if workspace_id in self._heads:
                self._settle(workspace_id, synced.result)
                if self._is_behind(workspace_id) and workspace_id not in self._retries:
                    self._behind[workspace_id] = None

    def _settle(self, workspace_id: uuid.UUID, synced: Callable[[], tuple[Head, sync.SyncReport]]) -> None:
        try:
            head, report = synced()
            if report.is_settled:
                self._applied[workspace_id] = Head(report.applied_seq, head.analysis)
                self._retries.pop(workspace_id, None)
                return
        except SyncTakesLong as reason:
            self._begin_long(workspace_id, sync.sync_mirror, str(reason))
            return
        except MirrorBusy:
            pass
        except (MirrorError, OSError, connections.apsw.Error) as error:
            SYNC_FAILURES.add()
            logger.error("mirror of %s can't be written: %s", workspace_id, error)
            time.sleep(0.1)
        except Workspace.DoesNotExist:
            self._forget(workspace_id)
            return
        self._try_later(workspace_id)

    def _begin_long(
        self, workspace_id: uuid.UUID, task: Callable[[MirrorFiles, uuid.UUID], sync.SyncReport], why: str
    ) -> None:
        logger.info("mirror of %s is synced beside the others: %s", workspace_id, why)
        head, files = self._heads[workspace_id], MirrorFiles.of(self._root, workspace_id)
        self._long.ask(workspace_id, lambda: (head, task(files, workspace_id)))

    def check_one(self) -> None:
        """Have the next mirror that is due checked beside, and one made anew that was found damaged."""
        for workspace_id, checked in self._checks.ended():
            self._take_check(workspace_id, checked)
        if self._checks.is_idle and (due := self._due_checks.next()) is not None:
            self._checks.ask(due, partial(check_mirror, MirrorFiles.of(self._root, due), self._stop))

    def _take_check(self, workspace_id: uuid.UUID, checked: Future[None]) -> None:
        try:
            checked.result()
        except MirrorDamaged as error:
            logger.error("mirror of %s is damaged: %s", workspace_id, error)
            if workspace_id in self._heads and workspace_id not in self._long:
                self._begin_long(workspace_id, partial(sync.rebuild_mirror, why="damaged"), "it is damaged")
        except Exception:  # whatever it is, all other mirrors are to be followed
            logger.exception("mirror of %s could not be checked", workspace_id)

    def _try_later(self, workspace_id: uuid.UUID) -> None:
        self._applied.pop(workspace_id, None)
        _, waited_s = self._retries.get(workspace_id, (0.0, None))
        wait_s = 0.0 if waited_s is None else min(max(1.0, 2 * waited_s), _LONGEST_RETRY_S)
        self._retries[workspace_id] = (time.monotonic() + wait_s, wait_s)

    def _forget(self, workspace_id: uuid.UUID) -> None:
        logger.info("workspace %s is gone; its mirror is removed", workspace_id)
        self._applied.pop(workspace_id, None)
        self._retries.pop(workspace_id, None)
        MirrorFiles.of(self._root, workspace_id).remove_all()

    def _drop_cold(self) -> None:
        if time.monotonic() < self._cold_at:
            return
        self._cold_at = time.monotonic() + _COLD_EVERY_S
        drop_cold(
            self._root,
            idle_days=settings.KEBAB_MIRROR_IDLE_DAYS,
            limit_bytes=settings.KEBAB_MIRROR_LIMIT_BYTES,
        )


def _heard(listener: psycopg.Connection, timeout_s: float) -> set[uuid.UUID]:
    """Return the workspaces that notifications name, once there is one or the time is over."""
    found = {uuid.UUID(each.payload) for each in listener.notifies(timeout=timeout_s, stop_after=1)}
    return found | {uuid.UUID(each.payload) for each in listener.notifies(timeout=0)}
