"""The mirror process, which keeps every mirror of this node current, by notification and by a poll.

A notification names its workspace, and only that one is checked. The poll compares a digest of all heads with
the previous one, and reads the heads only when it differs. So a node with 10,000 idle mirrors does next to
nothing.

Only the mirror process evicts, so that one process of a node decides and follows what is left.
"""

import logging
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path

import apsw
import psycopg
from django.conf import settings
from django.db import Error, close_old_connections, connection
from django.db.models.fields.json import KeyTransform

from kebab.identity.models import Workspace
from kebab.people.workspace_settings.registry import default_of
from kebab.tenancy.current_workspace import acting_everywhere
from search.analysis import Analysis
from search.corpus.replace import CHANNEL
from search.metrics import SYNC_FAILURES
from search.mirror.files import (
    MirrorBusy,
    MirrorDamaged,
    MirrorError,
    MirrorFiles,
    SyncTakesLong,
    eviction_markers,
    workspaces_on_this_node,
    workspaces_with_marker,
)
from search.mirror.sync import sync
from search.mirror.sync.background import BackgroundTasks
from search.mirror.sync.checksum import DueChecks, check_mirror, remove_copies
from search.mirror.sync.snapshot import STEMMING, select_analysis

# A mirror used within this time is not evicted for room: it would only be rebuilt.
_MIN_UNUSED_S = 600.0
# Idle mirrors evicted per round, so that a wrong clock doesn't cost a node all of them.
_IDLE_AT_ONCE = 20
_DAY_S = 86_400.0


def evict_unused(root: Path, *, idle_days: int, limit_bytes: int) -> int:
    """Evict mirrors not used for `idle_days`, then the least recently used until all fit `limit_bytes`.

    0 means no limit for either. Returns the number of evicted mirrors; one that is being written or read is
    left for the next round.
    """
    now = time.time()
    mirrors = [MirrorFiles.of(root, id_) for id_ in workspaces_on_this_node(root)]
    unused = sorted(((files.last_used(), files) for files in mirrors), key=lambda each: each[0])
    idle = [files for used, files in unused if idle_days and used < now - idle_days * _DAY_S]
    batch = idle[:_IDLE_AT_ONCE]
    evicted = _evict(batch, f"no search has used it for {idle_days} days")
    if limit_bytes:
        cold = [files for used, files in unused[len(batch) :] if used < now - _MIN_UNUSED_S]
        evicted += _make_room(mirrors, cold, limit_bytes)
    return evicted


def _make_room(mirrors: Iterable[MirrorFiles], cold: Sequence[MirrorFiles], limit_bytes: int) -> int:
    sizes = {files: files.size_bytes() for files in mirrors}
    excess, evicted = sum(sizes.values()) - limit_bytes, 0
    for files in cold:
        if excess <= 0:
            break
        if _evict([files], f"all together take more than {limit_bytes:,} bytes"):
            excess, evicted = excess - sizes[files], evicted + 1
    if excess > 0:
        logger.warning("mirrors that are in use take %s bytes more than KEBAB_MIRROR_LIMIT_BYTES", excess)
    return evicted


def _evict(mirrors: Iterable[MirrorFiles], reason: str) -> int:
    evicted = 0
    for files in mirrors:
        try:
            with files.write_lock():
                if not files.evict():
                    continue
        except (MirrorBusy, OSError) as error:
            logger.info("mirror %s is not dropped now: %s", files.directory.name, error)
            continue
        logger.info("mirror %s is dropped: %s", files.directory.name, reason)
        evicted += 1
    return evicted


# One number over all heads: 1 ms for 1,000 workspaces, where reading the heads takes 10.
_DIGEST = """
SELECT count(*), sum(hashtextextended(id::text || ' ' || head_seq || ' ' || coalesce(settings->>%s, ''), 0))
FROM people_workspace
"""

Digest = tuple[int, Decimal | None]


@dataclass(frozen=True, slots=True)
class Head:
    """The target state of a mirror: its last change and the analysis of its index."""

    seq: int
    analysis: Analysis


def heads_digest() -> Digest:
    """Return a digest that changes with any workspace's head."""
    with acting_everywhere(), connection.cursor() as cursor:
        cursor.execute(_DIGEST, [STEMMING])
        count, digest = cursor.fetchone()
    return count, digest


def read_heads(among: Collection[uuid.UUID] | None = None) -> dict[uuid.UUID, Head]:
    """Return the heads of these workspaces, of all for None."""
    with acting_everywhere():
        rows = Workspace.objects.order_by() if among is None else Workspace.objects.filter(pk__in=among)
        found = rows.values_list("pk", "head_seq", KeyTransform(STEMMING, "settings"))
        stems = default_of(STEMMING)
        return {
            pk: Head(seq, select_analysis(stems=stems if stems_setting is None else stems_setting))
            for pk, seq, stems_setting in found.iterator()
        }


logger = logging.getLogger(__name__)

#: The guaranteed poll interval; notifications only shorten the wait.
POLL_S = 1.0
# The largest share of time spent on checking all heads.
_SHARE = 0.02
# The least time between two rounds during continuous writes.
_STEP_S = 0.2
# The longest turn of syncs before new notifications are checked first.
_TURN_S = 1.0
# The longest interval between two checks of all heads.
_MAX_CHECK_INTERVAL_S = 10.0
# The pause after a database error.
_PAUSE_S = 1.0
# The longest backoff of a mirror that is not settled: none at first, then 1 s, doubled each time.
_LONGEST_RETRY_S = 16.0
# Folders created within this time of a listing may be missing in it: file times are coarse.
_COARSE_S = 0.1
# The interval between evictions of unused mirrors.
_EVICT_EVERY_S = 300.0

# A restored database, or another copy, has another log under the same numbers; its server has been restarted.
_SERVER = "SELECT pg_postmaster_start_time()::text"


class PresentMirrors:
    """The workspaces that have an entry in a folder, listed again after a change of the folder."""

    def __init__(
        self, root: Path, list_workspaces: Callable[[Path], Iterable[uuid.UUID]] = workspaces_on_this_node
    ) -> None:
        """Watch `root`; `list_workspaces` lists the workspaces that have an entry in it."""
        self._root = root
        self._list_workspaces = list_workspaces
        self._listed_ns = 0
        self.ids: frozenset[uuid.UUID] = frozenset()

    def refresh(self) -> bool:
        """List the folder again if it has changed; return whether the workspaces differ."""
        try:
            changed_ns = self._root.stat().st_mtime_ns
        except FileNotFoundError:
            changed_ns = 0
        if changed_ns and changed_ns == self._listed_ns:
            return False
        is_past = time.time_ns() - changed_ns > _COARSE_S * 1e9
        former, self.ids = self.ids, frozenset(self._list_workspaces(self._root))
        self._listed_ns = changed_ns if is_past else 0
        return self.ids != former


class MirrorFollower:
    """Follower of the logs of all workspaces that have a mirror below `root`, until `stop` is set."""

    def __init__(self, root: Path, stop: threading.Event) -> None:
        self._root = root
        self._stop = stop
        self._present = PresentMirrors(root)
        self._with_marker = PresentMirrors(eviction_markers(root), workspaces_with_marker)
        # The last applied change of each mirror, and the analysis that it was built for.
        self._applied: dict[uuid.UUID, Head] = {}
        self._heads: dict[uuid.UUID, Head] = {}
        self._behind: dict[uuid.UUID, None] = {}
        # By unsettled mirror: the time of the next retry, and the last backoff.
        self._retries: dict[uuid.UUID, tuple[float, float]] = {}
        self._digest: Digest | None = None
        # Start time of the database server that the applied numbers belong to.
        self._server: str | None = None
        # Workspaces named by notifications, while no check of all heads is due.
        self._notified: set[uuid.UUID] | None = None
        self._check_heads_at = self._evict_at = 0.0
        # Long syncs, each with its target head, and integrity checks.
        self._long_syncs: BackgroundTasks[tuple[Head, sync.SyncReport]] = BackgroundTasks("mirror-long")
        self._checks: BackgroundTasks[None] = BackgroundTasks("mirror-check")
        self._due_checks = DueChecks(root)

    def run(self) -> None:
        """Follow until stopped; an outage of Postgres only delays it."""
        remove_copies(self._root)
        try:
            self._follow_until_stopped()
        finally:
            self._long_syncs.close()
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
            self._reset_after_server_restart(listener)
            self._check_heads_at, self._digest = 0.0, None
            while not self._stop.is_set():
                began = time.monotonic()
                if self.catch_up():
                    # A burst of writes is followed in a few larger steps, a single write at once.
                    self._stop.wait(began + _STEP_S - time.monotonic())
                notified = _wait_for_notifications(listener, 0.0 if self._behind else POLL_S)
                self._notified = notified if notified and time.monotonic() < self._check_heads_at else None
                self._evict_unused()
                self.check_one()

    def _reset_after_server_restart(self, listener: psycopg.Connection) -> None:
        """Forget the mirrors' positions in the log if the database server has been restarted."""
        row = listener.execute(_SERVER).fetchone()
        server = None if row is None else row[0]
        if server != self._server:
            self._applied.clear()
        self._server = server

    def catch_up(self) -> bool:
        """Sync mirrors of this node that are behind, for one turn; return whether there was any."""
        self._collect_long_syncs()
        notified, self._notified = self._notified, None
        first = self._check_notified_heads(notified) if notified is not None else self._check_all_heads()
        now = time.monotonic()
        due = [id_ for id_, (at, _) in self._retries.items() if at <= now and id_ not in self._long_syncs]
        waiting = dict.fromkeys([*first, *due, *self._behind])
        return self._sync_until_turn_ends(waiting)

    def _check_notified_heads(self, notified: set[uuid.UUID]) -> list[uuid.UUID]:
        self._heads.update(read_heads(notified & self._present.ids))
        return [id_ for id_ in notified & self._present.ids if self._is_behind(id_)]

    def _check_all_heads(self) -> list[uuid.UUID]:
        began = time.monotonic()
        is_changed = self._present.refresh()
        digest = heads_digest()
        if is_changed or digest != self._digest:
            self._with_marker.refresh()
            heads = read_heads()
            self._heads = {id_: head for id_, head in heads.items() if id_ in self._present.ids}
            self._delete_orphans()
            for workspace_id in self._with_marker.ids - heads.keys():
                self._delete_mirror(workspace_id)
            self._behind |= {id_: None for id_ in self._heads if self._is_behind(id_)}
        self._digest = digest
        self._check_heads_at = began + min((time.monotonic() - began) / _SHARE, _MAX_CHECK_INTERVAL_S)
        return []

    def _delete_orphans(self) -> None:
        for workspace_id in self._present.ids - self._heads.keys():
            self._delete_mirror(workspace_id)
        for known in (self._applied, self._behind, self._retries):
            for workspace_id in known.keys() - self._heads.keys():
                known.pop(workspace_id, None)

    def _is_behind(self, workspace_id: uuid.UUID) -> bool:
        return self._applied.get(workspace_id) != self._heads.get(workspace_id)

    def _sync_until_turn_ends(self, waiting: Iterable[uuid.UUID]) -> bool:
        ends_at, has_synced = time.monotonic() + _TURN_S, False
        for workspace_id in waiting:
            has_synced = True
            self._behind.pop(workspace_id, None)
            if workspace_id in self._heads and workspace_id not in self._long_syncs:
                self._sync(workspace_id, self._heads[workspace_id])
            if time.monotonic() > ends_at or self._stop.is_set():
                break
        return has_synced

    def _sync(self, workspace_id: uuid.UUID, head: Head) -> None:
        files = MirrorFiles.of(self._root, workspace_id)
        self._record_sync(workspace_id, lambda: (head, sync.sync_mirror(files, workspace_id, is_brief=True)))

    def _collect_long_syncs(self) -> None:
        """Record the results of finished long syncs."""
        for workspace_id, synced in self._long_syncs.take_finished():
            if workspace_id in self._heads:
                self._record_sync(workspace_id, synced.result)
                if self._is_behind(workspace_id) and workspace_id not in self._retries:
                    self._behind[workspace_id] = None

    def _record_sync(
        self, workspace_id: uuid.UUID, synced: Callable[[], tuple[Head, sync.SyncReport]]
    ) -> None:
        try:
            head, report = synced()
            if report.is_settled:
                self._applied[workspace_id] = Head(report.applied_seq, head.analysis)
                self._retries.pop(workspace_id, None)
                return
        except SyncTakesLong as reason:
            self._start_long_sync(workspace_id, sync.sync_mirror, str(reason))
            return
        except MirrorBusy:
            pass
        except (MirrorError, OSError, apsw.Error) as error:
            SYNC_FAILURES.add()
            logger.error("mirror of %s can't be written: %s", workspace_id, error)
            time.sleep(0.1)
        except Workspace.DoesNotExist:
            self._delete_mirror(workspace_id)
            return
        self._schedule_retry(workspace_id)

    def _start_long_sync(
        self, workspace_id: uuid.UUID, task: Callable[[MirrorFiles, uuid.UUID], sync.SyncReport], why: str
    ) -> None:
        logger.info("mirror of %s is synced beside the others: %s", workspace_id, why)
        head, files = self._heads[workspace_id], MirrorFiles.of(self._root, workspace_id)
        self._long_syncs.submit(workspace_id, lambda: (head, task(files, workspace_id)))

    def check_one(self) -> None:
        """Start the next due integrity check in the background, and a rebuild of a damaged mirror."""
        for workspace_id, checked in self._checks.take_finished():
            self._collect_check(workspace_id, checked)
        if self._checks.is_idle and (due := self._due_checks.next()) is not None:
            self._checks.submit(due, partial(check_mirror, MirrorFiles.of(self._root, due), self._stop))

    def _collect_check(self, workspace_id: uuid.UUID, checked: Future[None]) -> None:
        try:
            checked.result()
        except MirrorDamaged as error:
            logger.error("mirror of %s is damaged: %s", workspace_id, error)
            if workspace_id in self._heads and workspace_id not in self._long_syncs:
                self._start_long_sync(
                    workspace_id, partial(sync.rebuild_mirror, why="damaged"), "it is damaged"
                )
        except Exception:  # the other mirrors have to be followed, whatever the error
            logger.exception("mirror of %s could not be checked", workspace_id)

    def _schedule_retry(self, workspace_id: uuid.UUID) -> None:
        self._applied.pop(workspace_id, None)
        _, waited_s = self._retries.get(workspace_id, (0.0, None))
        wait_s = 0.0 if waited_s is None else min(max(1.0, 2 * waited_s), _LONGEST_RETRY_S)
        self._retries[workspace_id] = (time.monotonic() + wait_s, wait_s)

    def _delete_mirror(self, workspace_id: uuid.UUID) -> None:
        logger.info("workspace %s is gone; its mirror is removed", workspace_id)
        self._applied.pop(workspace_id, None)
        self._retries.pop(workspace_id, None)
        MirrorFiles.of(self._root, workspace_id).delete_all()

    def _evict_unused(self) -> None:
        if time.monotonic() < self._evict_at:
            return
        self._evict_at = time.monotonic() + _EVICT_EVERY_S
        evict_unused(
            self._root,
            idle_days=settings.KEBAB_MIRROR_IDLE_DAYS,
            limit_bytes=settings.KEBAB_MIRROR_LIMIT_BYTES,
        )


def _wait_for_notifications(listener: psycopg.Connection, timeout_s: float) -> set[uuid.UUID]:
    """Wait for a notification; return the workspaces of all that have arrived, none after the timeout."""
    found = {uuid.UUID(each.payload) for each in listener.notifies(timeout=timeout_s, stop_after=1)}
    return found | {uuid.UUID(each.payload) for each in listener.notifies(timeout=0)}
