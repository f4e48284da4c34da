"""Synchronisation with the change log: `sync_mirror` applies changes, `rebuild_mirror` builds a generation.

Both are idempotent, safe to run twice or concurrently, and resume anywhere: the number of the last applied
change is committed with its rows. A lost hint costs latency, never a document.
"""

import json
import logging
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import apsw

from kebab.observability import tracing
from kebab.runtime import failpoints
from kebab.tenancy.current_workspace import acting_in
from search.metrics import CHANGES, REBUILD_SECONDS, REBUILDS, SYNC_SECONDS
from search.mirror import connections, schema
from search.mirror.files import MirrorAbsent, MirrorFiles, MirrorOutdated, MirrorRebuildNeeded, SyncTakesLong
from search.mirror.sync import snapshot
from search.mirror.sync.apply import Applier

logger = logging.getLogger(__name__)

_Read = TypeVar("_Read")

# A mirror this many documents behind is rebuilt: that is faster than replacing rows, and readers go on. So is
# one with this many changed chunks, if they are more than this share of all.
_REBUILD_BACKLOG = 20_000
_REBUILD_SHARE = 0.25
# Documents that a brief sync applies: a second or two of writing, at about ten chunks each.
_BRIEF_BACKLOG = 500
# A log with more changes per document of the backlog than this is not even read.
_CHANGES_A_DOCUMENT = 10
# Rows are never reused, and each costs every search memory. A mirror with more rows than this, and more than
# this many per existing chunk, is rebuilt.
_SPARSE_FROM = 200_000
_ROWS_A_CHUNK = 4

_TOUCHED = """
SELECT count(*) FROM chunks WHERE doc IN (
    SELECT doc FROM documents WHERE doc_id IN (SELECT value FROM json_each(?))
)
"""
_CHUNKS = "SELECT count(*) FROM chunks"
_LAST_ROW = "SELECT seq FROM sqlite_sequence WHERE name = 'chunks'"


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """The state of the mirror after a sync."""

    applied_seq: int
    documents: int
    was_rebuilt: bool
    #: False while deleted text may remain in the files because a reader is active: sync again.
    is_settled: bool


def sync_mirror(
    files: MirrorFiles, workspace_id: uuid.UUID, *, wait_s: float = 0.0, is_brief: bool = False
) -> SyncReport:
    """Bring the mirror to the current end of the log, building or rebuilding it where it can't follow.

    Acts in that workspace, whatever the caller's current workspace.

    Raises MirrorBusy when another process of this node holds the writer's lock for longer than `wait_s`,
    SyncTakesLong when `is_brief` and it would have to build or to follow far, and Workspace.DoesNotExist when
    the workspace is gone.
    """
    with files.write_lock(wait_s), acting_in(workspace_id):
        return _sync_or_rebuild(files, workspace_id, is_brief=is_brief)


@contextmanager
def lock_at_head(
    files: MirrorFiles, workspace_id: uuid.UUID, read: Callable[[], _Read], *, wait_s: float = 0.0
) -> Iterator[tuple[apsw.Connection, _Read]]:
    """Sync the mirror and hold the writer's lock; provide a writer and the result of `read`.

    `read` queries Postgres in the sync's snapshot and workspace. No Postgres transaction is open while the
    lock is held for the caller. Raises as `sync_mirror`.
    """
    with files.write_lock(wait_s):
        with acting_in(workspace_id), snapshot.postgres_snapshot():
            _sync_or_rebuild(files, workspace_id, is_brief=False)
            result = read()
        connection = connections.open_writer(files.current())
        try:
            yield connection, result
        finally:
            connection.close()


def rebuild_mirror(
    files: MirrorFiles,
    workspace_id: uuid.UUID,
    *,
    wait_s: float = 30.0,
    on_document: Callable[[], None] = lambda: None,
    why: str = "asked",
) -> SyncReport:
    """Build a new generation from Postgres and switch readers to it; searches go on meanwhile.

    Acts in that workspace, whatever the caller's current workspace; `why` labels the count of rebuilds.
    Raises as `sync_mirror`.
    """
    with files.write_lock(wait_s), acting_in(workspace_id):
        return _rebuild(files, workspace_id, on_document, why=why)


def applied_seq(connection: apsw.Connection) -> int:
    """Return the number of the last change applied to this mirror."""
    return _read_meta(connection, "applied_seq")


def applied_position(connection: apsw.Connection) -> tuple[int, int]:
    """Return number and token of the last applied change; the token tells histories of the log apart."""
    meta = dict(connection.execute(schema.READ_POSITION))
    return int(meta.get("applied_seq", 0)), int(meta.get("applied_token", 0))


def _read_meta(connection: apsw.Connection, key: str) -> int:
    return _read_number(connection, schema.READ_META, key)


def _read_number(connection: apsw.Connection, sql: str, *values: str) -> int:
    row = connection.execute(sql, values).fetchone()
    return int(row[0]) if row else 0


def _sync_or_rebuild(files: MirrorFiles, workspace_id: uuid.UUID, *, is_brief: bool) -> SyncReport:
    try:
        with tracing.span("mirror.sync"), SYNC_SECONDS.time():
            report = _follow_log(files.current(), workspace_id, is_brief=is_brief)
    except MirrorRebuildNeeded as reason:
        if is_brief:
            raise SyncTakesLong(f"It is to be made: {reason}") from reason
        if not isinstance(reason, MirrorAbsent):
            logger.warning("mirror of %s is rebuilt: %s", workspace_id, reason)
        return _rebuild(files, workspace_id, why=reason.why)
    is_alone = files.delete_old_generations()
    return replace(report, is_settled=report.is_settled and is_alone)


def _follow_log(path: Path, workspace_id: uuid.UUID, *, is_brief: bool) -> SyncReport:
    connection = connections.open_writer(path)
    try:
        with connections.translate_damage(path):
            report = _apply_log(connection, workspace_id, is_brief=is_brief)
            return replace(report, is_settled=_scrub(connection))
    finally:
        connection.close()


def _apply_log(connection: apsw.Connection, workspace_id: uuid.UUID, *, is_brief: bool) -> SyncReport:
    applied, token = applied_position(connection)
    landmarks = connection.execute(schema.READ_META, ("landmarks",)).fetchone() or ()
    with snapshot.postgres_snapshot():
        most = _CHANGES_A_DOCUMENT * _REBUILD_BACKLOG
        tail = snapshot.read_log(workspace_id, applied, token, landmarks, most=most)
        if schema.analysis_of(connection) != tail.analysis:
            raise MirrorOutdated(f"its text is to be indexed by {tail.analysis.tokenizer}", why="tokenizer")
        if not tail.is_continuous:
            raise MirrorOutdated(f"the log doesn't continue from {applied} to {tail.head_seq}", why="gap")
        if len(tail.doc_ids) > _REBUILD_BACKLOG:
            raise MirrorOutdated(f"{len(tail.doc_ids)} documents behind", why="behind")
        if is_brief and len(tail.doc_ids) > _BRIEF_BACKLOG:
            raise SyncTakesLong(f"{len(tail.doc_ids)} documents behind")
        if tail.head_seq != applied:
            _check_rebuild_is_slower(connection, tail)
            _apply_tail(connection, workspace_id, tail)
            CHANGES.add(amount=tail.head_seq - applied)
    return SyncReport(
        applied_seq=tail.head_seq, documents=len(tail.doc_ids), was_rebuilt=False, is_settled=False
    )


def _check_rebuild_is_slower(connection: apsw.Connection, tail: snapshot.LogTail) -> None:
    """Raise MirrorOutdated where a rebuild is less work than comparing the chunks that may have changed.

    Also where most rows are of deleted chunks; only a sync that touches chunks adds such rows.
    """
    doc_ids = json.dumps([doc_id.hex for doc_id in tail.doc_ids])
    touched = _read_number(connection, _TOUCHED, doc_ids)
    if touched > _REBUILD_BACKLOG and touched > _REBUILD_SHARE * _read_number(connection, _CHUNKS):
        raise MirrorOutdated(f"{touched} chunks behind", why="behind")
    rows = _read_number(connection, _LAST_ROW) if touched else 0
    if rows > _SPARSE_FROM and rows > _ROWS_A_CHUNK * _read_number(connection, _CHUNKS):
        raise MirrorOutdated(f"most of {rows} rows belong to deleted chunks", why="sparse")


def _apply_tail(connection: apsw.Connection, workspace_id: uuid.UUID, tail: snapshot.LogTail) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        erased = False
        applier = Applier(connection)
        for doc_id, state in snapshot.read_documents(workspace_id, tail.doc_ids):
            erased |= applier.delete(doc_id.hex) if state is None else applier.upsert(state)
        applier.finish()
        if erased:
            connection.execute(schema.WRITE_META, ("scrub_due", 1))
        _write_position(connection, workspace_id, tail.head_seq, tail.head_token)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite itself rolls back on a full disk or a damaged file
            connection.execute("ROLLBACK")
        raise


def _write_position(connection: apsw.Connection, workspace_id: uuid.UUID, seq: int, token: int) -> None:
    connection.execute(schema.WRITE_META, ("landmarks", snapshot.read_landmarks(workspace_id, seq)))
    connection.execute(schema.WRITE_META, ("applied_seq", seq))
    connection.execute(schema.WRITE_META, ("applied_token", token))


def _scrub(connection: apsw.Connection) -> bool:
    """Truncate the write-ahead log after a deletion, so that no deleted text stays in it.

    Returns whether none is left.
    """
    if not _read_meta(connection, "scrub_due"):
        return True
    connection.set_busy_timeout(100)
    busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").get
    connection.set_busy_timeout(5000)
    if not busy:
        connection.execute(schema.WRITE_META, ("scrub_due", 0))
    return not busy


def _rebuild(
    files: MirrorFiles,
    workspace_id: uuid.UUID,
    on_document: Callable[[], None] = lambda: None,
    *,
    why: str,
) -> SyncReport:
    with tracing.span("mirror.rebuild", why=why), REBUILD_SECONDS.time():
        report = _rebuild_or_clean_up(files, workspace_id, on_document)
    REBUILDS.add(why)
    return report


def _rebuild_or_clean_up(
    files: MirrorFiles, workspace_id: uuid.UUID, on_document: Callable[[], None]
) -> SyncReport:
    try:
        return _write_generation(files, workspace_id, on_document)
    except Exception:
        files.delete_unpublished()  # it may have filled the disk
        raise


def _write_generation(
    files: MirrorFiles, workspace_id: uuid.UUID, on_document: Callable[[], None]
) -> SyncReport:
    path = files.new_generation_path()
    connection = connections.create_file(path, snapshot.read_analysis(workspace_id))
    if not failpoints.is_on("generations"):
        connection.close()
        path = files.publish(path)
        connection = connections.open_writer(path)
    try:
        documents, seq = _fill_tables(connection, workspace_id, on_document)
        connection.execute(schema.OPTIMIZE)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()
    if failpoints.is_on("generations"):
        files.publish(path)
    return SyncReport(
        applied_seq=seq, documents=documents, was_rebuilt=True, is_settled=files.delete_old_generations()
    )


def _fill_tables(
    connection: apsw.Connection, workspace_id: uuid.UUID, on_document: Callable[[], None]
) -> tuple[int, int]:
    documents = 0
    with snapshot.postgres_snapshot(), connection:
        seq, tokens = snapshot.read_head(workspace_id)
        connection.execute(schema.WRITE_META, ("workspace_id", str(workspace_id)))
        applier = Applier(connection)
        for state in snapshot.read_all_documents(workspace_id):
            applier.upsert(state)
            documents += 1
            on_document()
        applier.finish()
        _write_position(connection, workspace_id, seq, tokens[0] if tokens else 0)
    return documents, seq
