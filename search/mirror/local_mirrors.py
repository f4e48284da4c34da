"""This node's mirrors as a web process or a command uses them: files, readers, syncs."""

import contextlib
import logging
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import Future
from functools import cache
from threading import Lock

import apsw
from django.conf import settings
from django.db import Error, connection

from kebab.identity.models import Workspace
from kebab.runtime.context_executor import ContextExecutor
from kebab.runtime.role import COMMAND, own_role
from kebab.tenancy.current_workspace import acting_in
from search.access.scope import SearchScope
from search.corpus.seq_tokens import read_token
from search.metrics import SYNC_FAILURES
from search.mirror.connections import ReaderPool
from search.mirror.files import MirrorBusy, MirrorError, MirrorFiles, SyncTakesLong
from search.mirror.sync.last_used import UseRecorder
from search.mirror.sync.sync import applied_position, sync_mirror
from search.retrieval.deadline import seconds_left
from search.retrieval.errors import NotSearchableYet

logger = logging.getLogger(__name__)

# Poll interval while another process writes the mirror, or until a change appears in it.
_POLL_S = 0.02
# Wait before a failed build, for example on a full disk, is tried again.
_RETRY_S = 1.0
# Time for a node to build a workspace's first mirror before a search answers without it.
_FIRST_MIRROR_S = 2.0
_SYNCS_AT_ONCE = 3


@cache
def reader_pool() -> ReaderPool:
    """Return this process's reader pool."""
    return ReaderPool()


@cache
def use_recorder() -> UseRecorder:
    """Return this process's recorder of the use of this node's mirrors."""
    return UseRecorder(mirror_files)


@cache
def leg_executor() -> ContextExecutor:
    """Return this process's threads for lexical legs, concurrent with the vector legs of their requests."""
    return ContextExecutor(settings.KEBAB_WEB_THREADS, thread_name_prefix="lexical")


# Number of searches in progress in this process.
_active_searches = 0
_active_searches_lock = Lock()
# Running and queued syncs by workspace.
_syncs: dict[uuid.UUID, Future[bool]] = {}
_syncs_lock = Lock()


@contextlib.contextmanager
def leg_threads() -> Iterator[ContextExecutor | None]:
    """Provide threads for the legs of one search; None while the process answers other searches.

    With threads eight clients get a tenth fewer answers.
    """
    global _active_searches
    with _active_searches_lock:
        _active_searches += 1
        is_alone = _active_searches == 1
    try:
        yield leg_executor() if is_alone else None
    finally:
        with _active_searches_lock:
            _active_searches -= 1


@cache
def _sync_executor() -> ContextExecutor:
    # Several threads, so that small evicted mirrors don't wait for the rebuild of a large one.
    return ContextExecutor(_SYNCS_AT_ONCE, thread_name_prefix="mirror-sync")


def mirror_files(workspace_id: uuid.UUID) -> MirrorFiles:
    """Return the files of a workspace's mirror on this node."""
    return MirrorFiles.of(settings.KEBAB_MIRROR_DIR, workspace_id)


def mirror_seq(workspace_id: uuid.UUID) -> int:
    """Return the last change that this node's mirror has applied, 0 without a mirror."""
    return _position(workspace_id)[0]


def _position(workspace_id: uuid.UUID) -> tuple[int, int]:
    """Return number and token of the last change that the mirror has applied; 0 and 0 without a mirror."""
    try:
        with reader_pool().reader(mirror_files(workspace_id).current()) as reader:
            return applied_position(reader)
    except MirrorError:
        return 0, 0


def trigger_sync(workspace_id: uuid.UUID) -> None:
    """Start a background sync of the mirror, for a request that found it behind."""
    _sync_in_background(workspace_id)


def record_use(scope: SearchScope) -> None:
    """Record that a search uses this node's mirror of a workspace, if it has any change."""
    if scope.head_seq:
        use_recorder().record(scope.workspace_id)


def ensure_mirror(workspace_id: uuid.UUID, head_seq: int) -> None:
    """Build this node's mirror of a workspace with changes (`head_seq` above 0) if there is none to read.

    Waits two seconds at most, and not beyond the deadline of the search. Raises Workspace.DoesNotExist.
    """
    if not head_seq:
        return
    use_recorder().record(workspace_id)
    try:
        with reader_pool().reader(mirror_files(workspace_id).current()):
            return
    except MirrorError:
        with contextlib.suppress(Error):  # the search queries Postgres itself and handles its errors
            build_mirror(workspace_id, limit_s=min(_FIRST_MIRROR_S, seconds_left()))


def build_mirror(workspace_id: uuid.UUID, *, limit_s: float) -> bool:
    """Build or sync this node's mirror of a workspace in the background, waiting up to `limit_s`.

    Returns whether it was done in time. Raises Workspace.DoesNotExist, and the database's errors.
    """
    try:
        return _sync_in_background(workspace_id, limit_s).result(limit_s)
    except TimeoutError:
        return False


def _sync_in_background(workspace_id: uuid.UUID, wait_s: float = 0.0) -> Future[bool]:
    """Return the workspace's running sync, or start one: several would occupy the few threads by waiting."""
    with _syncs_lock:
        sync = _syncs.get(workspace_id)
        if sync is None or sync.done():
            sync = _sync_executor().submit(_sync_and_log, workspace_id, wait_s=wait_s)
            _syncs[workspace_id] = sync
            sync.add_done_callback(lambda _: _syncs.pop(workspace_id, None))
        return sync


def wait_for_seq(workspace_id: uuid.UUID, seq: int, *, limit_s: float) -> None:
    """Wait until this node's mirror shows change `seq`, syncing it here if no other process does.

    Raises NotSearchableYet after `limit_s` seconds. A command, which may be the only process on the node,
    builds a mirror itself, however long that takes. Raises Workspace.DoesNotExist, and the database's errors.
    """
    deadline = time.monotonic() + limit_s
    use_recorder().record(workspace_id)
    while not _shows_change(workspace_id, seq):
        if time.monotonic() >= deadline:
            raise NotSearchableYet(
                f"Change {seq} is not searchable on this node after {limit_s:g} s; ask again."
            )
        if not _sync_until(workspace_id, deadline) or not _shows_change(workspace_id, seq):
            time.sleep(_POLL_S)


def _sync_until(workspace_id: uuid.UUID, deadline: float) -> bool:
    """Sync here if that is brief, else in the background; return whether it was done by `deadline`."""
    try:
        return _sync(workspace_id, is_brief=own_role() != COMMAND)
    except SyncTakesLong:
        if build_mirror(workspace_id, limit_s=deadline - time.monotonic()):
            return True
        time.sleep(max(0.0, min(_RETRY_S, deadline - time.monotonic())))
        return False


def _shows_change(workspace_id: uuid.UUID, seq: int) -> bool:
    """Return whether this node's mirror shows change `seq` of the current log.

    A mirror from before a restore may be further ahead in a log that no longer exists.
    """
    applied, token = _position(workspace_id)
    with acting_in(workspace_id):
        return applied >= seq and token == read_token(workspace_id, applied)


def _sync(workspace_id: uuid.UUID, wait_s: float = 0.0, *, is_brief: bool = False) -> bool:
    """Sync the mirror here; return False when another process or a full disk prevents writing it.

    Raises SyncTakesLong when `is_brief` and it would take long.
    """
    try:
        sync_mirror(mirror_files(workspace_id), workspace_id, wait_s=wait_s, is_brief=is_brief)
    except MirrorBusy:
        return False
    except SyncTakesLong:
        raise
    except (MirrorError, apsw.Error, OSError) as error:
        SYNC_FAILURES.add()
        logger.warning("mirror of %s can't be written now: %s", workspace_id, error)
        return False
    except Workspace.DoesNotExist:
        mirror_files(workspace_id).delete_all()
        raise
    return True


def _sync_and_log(workspace_id: uuid.UUID, wait_s: float = 0.0) -> bool:
    """Sync in a background thread and log its errors, since no caller may be waiting for them."""
    try:
        return _sync(workspace_id, wait_s)
    except Workspace.DoesNotExist:
        logger.info("workspace %s is gone", workspace_id)
        raise
    except Error as error:
        logger.warning("mirror of %s waits for Postgres: %s", workspace_id, error)
        raise
    except Exception:
        logger.exception("mirror of %s could not be synced", workspace_id)
        return False
    finally:
        connection.close()
