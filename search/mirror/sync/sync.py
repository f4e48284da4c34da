"""Following the change log: `sync_mirror` pulls what is new, `rebuild_mirror` makes a new generation.

Both are idempotent, safe to run twice or at once, and resume anywhere: the number up to which a mirror has
followed is committed with the rows that make it true. A lost hint costs latency, never a document.
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
from search.mirror.errors import MirrorAbsent, MirrorOutdated, MirrorToBeMade, SyncTakesLong
from search.mirror.files import MirrorFiles
from search.mirror.sync import snapshot
from search.mirror.sync.apply import Applier

logger = logging.getLogger(__name__)

_Read = TypeVar("_Read")

# A mirror this many documents behind is rebuilt: that is faster than replacing rows, and readers go on. So is
# one of whose chunks as many are to be looked at again, where they are more than this share of all.
_REBUILD_BACKLOG = 20_000
_REBUILD_SHARE = 0.25
# Documents that a brief sync looks at: a second or two of writing, where each has some ten chunks.
_BRIEF_BACKLOG = 500
# A log of so many changes for each of those documents is not even read.
_CHANGES_A_DOCUMENT = 10
# Rows are never used again, and each costs every search memory. A mirror that has come so far, and has
# more than so many rows for each chunk that there is, is made anew.
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
    """Where a sync left the mirror."""

    applied_seq: int
    documents: int
    was_rebuilt: bool
    #: False while what was deleted may still lie in the files, because something reads them: sync again.
    is_settled: bool


def sync_mirror(
    files: MirrorFiles, workspace_id: uuid.UUID, *, wait_s: float = 0.0, is_brief: bool = False
) -> SyncReport:
    """Bring the mirror to the log's present end, building or rebuilding it where it can't follow.

    It acts in that workspace, wherever its caller acts.

    Raises MirrorBusy when another process of this node is at it for longer than `wait_s`, SyncTakesLong
    where it is to be brief and would have to build or to follow far, and Workspace.DoesNotExist when the
    workspace is gone.
    """
    with files.writing(wait_s), acting_in(workspace_id):
        return _synced(files, workspace_id, is_brief=is_brief)


@contextmanager
def held_at_head(
    files: MirrorFiles, workspace_id: uuid.UUID, read: Callable[[], _Read], *, wait_s: float = 0.0
) -> Iterator[tuple[apsw.Connection, _Read]]:
    """Return a writer of the mirror, synced and written by nobody else, and what `read` gives beside the
    sync.

    It reads Postgres from the sync's snapshot, whatever is written, in that workspace. Nothing of Postgres is
    held while the mirror is. Raises as `sync_mirror`.
    """
    with files.writing(wait_s):
        with acting_in(workspace_id), snapshot.postgres_snapshot():
            _synced(files, workspace_id, is_brief=False)
            was_read = read()
        connection = connections.open_writer(files.current())
        try:
            yield connection, was_read
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
    """Make a new generation from Postgres and switch readers to it; searches go on meanwhile.

    It acts in that workspace, wherever its caller acts, and is counted under `why`. Raises as `sync_mirror`.
    """
    with files.writing(wait_s), acting_in(workspace_id):
        return _build(files, workspace_id, on_document, why=why)


def applied_seq(connection: apsw.Connection) -> int:
    """Return the number up to which this mirror shows the log."""
    return _meta(connection, "applied_seq")


def applied_token(connection: apsw.Connection) -> int:
    """Return the token of the change that carries that number, by which one history is known from another."""
    return _meta(connection, "applied_token")


def _meta(connection: apsw.Connection, key: str) -> int:
    return _number(connection, schema.READ_META, key)


def _number(connection: apsw.Connection, sql: str, *values: str) -> int:
    row = connection.execute(sql, values).fetchone()
    return int(row[0]) if row else 0


def _synced(files: MirrorFiles, workspace_id: uuid.UUID, *, is_brief: bool) -> SyncReport:
    try:
        with tracing.span("mirror.sync"), SYNC_SECONDS.timed():
            report = _follow(files.current(), workspace_id, is_brief=is_brief)
    except MirrorToBeMade as reason:
        if is_brief:
            raise SyncTakesLong(f"It is to be made: {reason}") from reason
        if not isinstance(reason, MirrorAbsent):
            logger.warning("mirror of %s is rebuilt: %s", workspace_id, reason)
        return _build(files, workspace_id, why=reason.why)
    is_alone = files.remove_old()
    return replace(report, is_settled=report.is_settled and is_alone)


def _follow(path: Path, workspace_id: uuid.UUID, *, is_brief: bool) -> SyncReport:
    connection = connections.open_writer(path)
    try:
        with connections.naming_damage(path):
            report = _apply_log(connection, workspace_id, is_brief=is_brief)
            return replace(report, is_settled=_scrub(connection))
    finally:
        connection.close()


def _apply_log(connection: apsw.Connection, workspace_id: uuid.UUID, *, is_brief: bool) -> SyncReport:
    applied = applied_seq(connection)
    with snapshot.postgres_snapshot():
        most = _CHANGES_A_DOCUMENT * _REBUILD_BACKLOG
        tail = snapshot.read_log(workspace_id, applied, applied_token(connection), most=most)
        if schema.analysis_of(connection) != tail.analysis:
            raise MirrorOutdated(f"its text is to be indexed by {tail.analysis.tokenizer}", why="tokenizer")
        if not tail.is_continuous:
            raise MirrorOutdated(f"the log doesn't continue from {applied} to {tail.head_seq}", why="gap")
        if len(tail.doc_ids) > _REBUILD_BACKLOG:
            raise MirrorOutdated(f"{len(tail.doc_ids)} documents behind", why="behind")
        if is_brief and len(tail.doc_ids) > _BRIEF_BACKLOG:
            raise SyncTakesLong(f"{len(tail.doc_ids)} documents behind")
        if tail.head_seq != applied:
            _check_worth(connection, tail)
            _apply_tail(connection, workspace_id, tail)
            CHANGES.add(amount=tail.head_seq - applied)
    return SyncReport(
        applied_seq=tail.head_seq, documents=len(tail.doc_ids), was_rebuilt=False, is_settled=False
    )


def _check_worth(connection: apsw.Connection, tail: snapshot.LogTail) -> None:
    """Raises MirrorOutdated where a rebuild is less work than looking at the chunks that may have changed.

    So it is, too, where most rows are of chunks that are no more: only a sync that touches some leaves such.
    """
    doc_ids = json.dumps([doc_id.hex for doc_id in tail.doc_ids])
    touched = _number(connection, _TOUCHED, doc_ids)
    if touched > _REBUILD_BACKLOG and touched > _REBUILD_SHARE * _number(connection, _CHUNKS):
        raise MirrorOutdated(f"{touched} chunks behind", why="behind")
    rows = _number(connection, _LAST_ROW) if touched else 0
    if rows > _SPARSE_FROM and rows > _ROWS_A_CHUNK * _number(connection, _CHUNKS):
        raise MirrorOutdated(f"of {rows} rows most are of chunks that are no more", why="sparse")


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
        _write_place(connection, tail.head_seq, tail.head_token)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite itself rolls back on a full disk or a damaged file
            connection.execute("ROLLBACK")
        raise


def _write_place(connection: apsw.Connection, seq: int, token: int) -> None:
    connection.execute(schema.WRITE_META, ("applied_seq", seq))
    connection.execute(schema.WRITE_META, ("applied_token", token))


def _scrub(connection: apsw.Connection) -> bool:
    """Cut the write-ahead log after an erasure, so that no deleted text stays in it; give whether it is."""
    if not _meta(connection, "scrub_due"):
        return True
    connection.set_busy_timeout(100)
    busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    connection.set_busy_timeout(5000)
    if not busy:
        connection.execute(schema.WRITE_META, ("scrub_due", 0))
    return not busy


def _build(
    files: MirrorFiles,
    workspace_id: uuid.UUID,
    on_document: Callable[[], None] = lambda: None,
    *,
    why: str,
) -> SyncReport:
    with tracing.span("mirror.rebuild", why=why), REBUILD_SECONDS.timed():
        report = _built(files, workspace_id, on_document)
    REBUILDS.add(why)
    return report


def _built(files: MirrorFiles, workspace_id: uuid.UUID, on_document: Callable[[], None]) -> SyncReport:
    try:
        return _published(files, workspace_id, on_document)
    except Exception:
        files.remove_unpublished()  # it may be what has filled the disk
        raise


def _published(files: MirrorFiles, workspace_id: uuid.UUID, on_document: Callable[[], None]) -> SyncReport:
    path = files.unpublished()
    connection = connections.create_file(path, snapshot.read_analysis(workspace_id))
    if not failpoints.is_on("generations"):
        connection.close()
        path = files.publish(path)
        connection = connections.open_writer(path)
    try:
        documents, seq = _fill(connection, workspace_id, on_document)
        connection.execute(schema.OPTIMIZE)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()
    if failpoints.is_on("generations"):
        files.publish(path)
    return SyncReport(applied_seq=seq, documents=documents, was_rebuilt=True, is_settled=files.remove_old())


def _fill(
    connection: apsw.Connection, workspace_id: uuid.UUID, on_document: Callable[[], None]
) -> tuple[int, int]:
    documents = 0
    with snapshot.postgres_snapshot(), connection:
        seq, token = snapshot.read_head(workspace_id)
        connection.execute(schema.WRITE_META, ("workspace_id", str(workspace_id)))
        applier = Applier(connection)
        for state in snapshot.read_all_documents(workspace_id):
            applier.upsert(state)
            documents += 1
            on_document()
        applier.finish()
        _write_place(connection, seq, token)
    return documents, seq
