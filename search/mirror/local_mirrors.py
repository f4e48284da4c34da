"""This node's mirrors, as a web process or a verb uses them: where they lie, reading, catching up."""

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

from kebab.people.models import Workspace
from kebab.runtime.context_executor import ContextThreads
from kebab.runtime.role import VERB, own_role
from kebab.tenancy.current_workspace import acting_in
from search.metrics import SYNC_FAILURES
from search.mirror.connections import ReaderPool
from search.mirror.errors import MirrorBusy, MirrorError, SyncTakesLong
from search.mirror.files import MirrorFiles
from search.mirror.sync.last_used import RecentUse
from search.mirror.sync.snapshot import read_token
from search.mirror.sync.sync import applied_seq, applied_token, rebuild_mirror, sync_mirror
from search.retrieval.errors import NotSearchableYet

logger = logging.getLogger(__name__)

# Between two looks at a mirror that another process is writing, or for a number that isn't written yet.
_POLL_S = 0.02
# Before what could not be made, by a full disk for example, is begun again.
_AGAIN_S = 1.0
# A node that has no mirror of the workspace yet gets this long to build it before it answers without.
_FIRST_MIRROR_S = 2.0
_SYNCS_AT_ONCE = 3


@cache
def reader_pool() -> ReaderPool:
    """Return this process's readers."""
    return ReaderPool()


@cache
def recent_use() -> RecentUse:
    """Return what this process knows of the mirrors that it used."""
    return RecentUse(mirror_files)


@cache
def leg_executor() -> ContextThreads:
    """Return the threads in which lexical legs run beside the vector legs of their requests."""
    return ContextThreads(settings.KEBAB_WEB_THREADS, thread_name_prefix="lexical")


# How many searches are under way in this process.
_searching = 0
_counting = Lock()
# The sync of each workspace that is under way, or waits for a thread.
_syncs: dict[uuid.UUID, Future[bool]] = {}
_starting_syncs = Lock()


@contextlib.contextmanager
def legs_beside() -> Iterator[ContextThreads | None]:
    """Return threads for the legs of one search; none while the process answers others, which keep it busy.

    One search takes 0.8 of the time with them, but eight clients get a tenth fewer answers.
    """
    global _searching
    with _counting:
        _searching += 1
        is_alone = _searching == 1
    try:
        yield leg_executor() if is_alone else None
    finally:
        with _counting:
            _searching -= 1


@cache
def _sync_executor() -> ContextThreads:
    # Small mirrors that were dropped don't wait for the one large one that is made anew.
    return ContextThreads(_SYNCS_AT_ONCE, thread_name_prefix="mirror-sync")


def mirror_files(workspace_id: uuid.UUID) -> MirrorFiles:
    """Return the files of a workspace's mirror on this node."""
    return MirrorFiles.of(settings.KEBAB_MIRROR_DIR, workspace_id)


def mirror_seq(workspace_id: uuid.UUID) -> int:
    """Return the number that this node's mirror has come to, 0 when there is none."""
    return _place(workspace_id)[0]


def _place(workspace_id: uuid.UUID) -> tuple[int, int]:
    """Return the number that the mirror has come to, and the token of its change; 0 and 0: there is none."""
    try:
        with reader_pool().reader(mirror_files(workspace_id).current()) as reader:
            return applied_seq(reader), applied_token(reader)
    except MirrorError:
        return 0, 0


def trigger_sync(workspace_id: uuid.UUID) -> None:
    """Have this process bring the mirror up to date beside the request that found it behind."""
    _sync_beside(workspace_id)


def trigger_rebuild(workspace_id: uuid.UUID) -> None:
    """Have this process make this node's mirror anew beside its requests; readers go on meanwhile."""
    _sync_executor().submit(_rebuild_and_log, workspace_id)


def ensure_mirror(workspace_id: uuid.UUID, head_seq: int) -> None:
    """Build this node's mirror of a workspace that has come to change `head_seq`, if there is none to read.

    It waits two seconds at most. Raises Workspace.DoesNotExist.
    """
    if not head_seq:
        return
    recent_use().note(workspace_id)
    try:
        with reader_pool().reader(mirror_files(workspace_id).current()):
            return
    except MirrorError:
        with contextlib.suppress(Error):  # the search asks Postgres itself, and knows what to answer
            build_mirror(workspace_id, limit_s=_FIRST_MIRROR_S)


def build_mirror(workspace_id: uuid.UUID, *, limit_s: float) -> bool:
    """Have this node's mirror of a workspace built or brought up to date beside, within `limit_s`.

    Gives whether it was. Raises Workspace.DoesNotExist, and the database's errors.
    """
    try:
        return _sync_beside(workspace_id, limit_s).result(limit_s)
    except TimeoutError:
        return False


def _sync_beside(workspace_id: uuid.UUID, wait_s: float = 0.0) -> Future[bool]:
    """Return the sync under way: each search would else have one of the few threads wait for the first."""
    with _starting_syncs:
        sync = _syncs.get(workspace_id)
        if sync is None or sync.done():
            sync = _sync_executor().submit(_sync_and_log, workspace_id, wait_s=wait_s)
            _syncs[workspace_id] = sync
            sync.add_done_callback(lambda _: _syncs.pop(workspace_id, None))
        return sync


def wait_for_seq(workspace_id: uuid.UUID, seq: int, *, limit_s: float) -> None:
    """Return once this node's mirror shows change `seq`, syncing it here if no other process is at it.

    Raises NotSearchableYet after `limit_s` seconds; a verb, beside which nobody else may make mirrors, makes
    one itself, however long that takes. Raises Workspace.DoesNotExist, and the database's errors.
    """
    deadline = time.monotonic() + limit_s
    recent_use().note(workspace_id)
    while not _shows(workspace_id, seq):
        if time.monotonic() >= deadline:
            raise NotSearchableYet(
                f"Change {seq} is not searchable on this node after {limit_s:g} s; ask again."
            )
        if not _sync_until(workspace_id, deadline) or not _shows(workspace_id, seq):
            time.sleep(_POLL_S)


def _sync_until(workspace_id: uuid.UUID, deadline: float) -> bool:
    """Follow the log here as far as that is brief; what may take minutes is done beside."""
    try:
        return _sync(workspace_id, is_brief=own_role() != VERB)
    except SyncTakesLong:
        if build_mirror(workspace_id, limit_s=deadline - time.monotonic()):
            return True
        time.sleep(max(0.0, min(_AGAIN_S, deadline - time.monotonic())))
        return False


def _shows(workspace_id: uuid.UUID, seq: int) -> bool:
    """Return whether this node's mirror shows change `seq` of the log that there is now.

    One that outlived a restore may have come further in a log that is no more.
    """
    applied, token = _place(workspace_id)
    with acting_in(workspace_id):
        return applied >= seq and token == read_token(workspace_id, applied)


def _sync(workspace_id: uuid.UUID, wait_s: float = 0.0, *, is_brief: bool = False) -> bool:
    """Sync the mirror here; False when it can't be written now, by another process or a full disk.

    Raises SyncTakesLong where it is to be brief and can't be.
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
        mirror_files(workspace_id).remove_all()
        raise
    return True


def _sync_and_log(workspace_id: uuid.UUID, wait_s: float = 0.0) -> bool:
    """Sync for whoever waits, and write down what it ends by: there may be nobody."""
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


def _rebuild_and_log(workspace_id: uuid.UUID) -> None:
    try:
        rebuild_mirror(mirror_files(workspace_id), workspace_id)
    except Workspace.DoesNotExist:
        mirror_files(workspace_id).remove_all()
    except Exception:
        logger.exception("mirror of %s could not be made anew", workspace_id)
    finally:
        connection.close()
