"""Proof that a mirror equals Postgres: the same order-independent checksum over both, text included.

SQLite reports damage only where it reads it. An index that lacks rows answers as if they didn't exist, so
FTS5 and the posting lists are compared daily with the text. The check runs on a copy, because the comparison
writes and takes minutes for a large mirror, which has to be followed meanwhile.
"""

import json
import logging
import shutil
import tempfile
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

import apsw
from blake3 import blake3

from search.mirror import connections, schema
from search.mirror.files import MirrorBusy, MirrorDamaged, MirrorError, MirrorFiles, workspaces_on_this_node
from search.mirror.postings import check_postings
from search.mirror.sync import snapshot
from search.mirror.sync.sync import applied_seq

_DOCUMENTS = """
SELECT {columns}, (SELECT json_group_array(tag) FROM document_tags t WHERE t.doc = d.doc) FROM documents d
"""
_read_columns = attrgetter(*schema.DOCUMENT_COLUMNS)
_VALUES = "SELECT d.doc_id, v.name, v.value FROM document_values v JOIN documents d ON d.doc = v.doc"
# The text index has its own copies of the ids, so that a row under a wrong id is detected.
_CHUNKS = """
SELECT f.chunk_id, f.doc_id, c.kind, c.code_lang, c.row_version, f.breadcrumb, f.text
FROM chunks_fts f LEFT JOIN chunks c ON c.chunk = f.rowid AND c.chunk_id = f.chunk_id
"""
_OF_THIS_MACHINE = (apsw.BusyError, apsw.FullError, apsw.IOError, apsw.InterruptError, apsw.NoMemError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checksum:
    """The checksum of a set of documents and chunks, independent of their order."""

    seq: int
    documents: int
    chunks: int
    total: int


def mirror_checksum(connection: apsw.Connection) -> Checksum:
    """Return the checksum of a mirror, from one read transaction."""
    with connection:
        found = _checksum(applied_seq(connection), _mirror_rows(connection))
    return found


def postgres_checksum(workspace_id: uuid.UUID) -> Checksum:
    """Return the checksum that a mirror must have once it has followed to `seq`, from one snapshot."""
    with snapshot.postgres_snapshot():
        seq, _ = snapshot.read_head(workspace_id)
        return _checksum(seq, _postgres_rows(workspace_id))


def check_integrity(connection: apsw.Connection) -> None:
    """Run SQLite's and FTS5's integrity checks on a writable mirror, and compare the postings.

    Raises MirrorDamaged, and SQLite's errors about this machine rather than the file.
    """
    try:
        if (verdict := connection.pragma("integrity_check")) != "ok":
            raise MirrorDamaged(str(verdict))
        connection.execute(schema.INTEGRITY_CHECK)
        check_postings(connection)
    except _OF_THIS_MACHINE:
        raise
    except (apsw.Error, ValueError, TypeError, LookupError) as error:  # broken text and numbers may raise any
        raise MirrorDamaged(f"{type(error).__name__}: {error}") from error


def _postgres_rows(workspace_id: uuid.UUID) -> Iterator[tuple[object, ...]]:
    for state in snapshot.read_all_documents(workspace_id):
        yield ("document", *_read_columns(state), state.tags)
        for name, value in state.values:
            yield ("value", state.doc_id, name, value)
        for chunk in state.chunks:
            yield (
                "chunk",
                chunk.chunk_id,
                state.doc_id,
                chunk.kind,
                chunk.code_lang,
                chunk.row_version,
                state.indexed_headings(chunk),
                chunk.text,
            )


def _mirror_rows(connection: apsw.Connection) -> Iterator[tuple[object, ...]]:
    for *fields, tags in connection.execute(_DOCUMENTS.format(columns=", ".join(schema.DOCUMENT_COLUMNS))):
        yield ("document", *fields, tuple(sorted(json.loads(tags))))
    for row in connection.execute(_VALUES):
        yield ("value", *row)
    for row in connection.execute(_CHUNKS):
        yield ("chunk", *row)


def _checksum(seq: int, rows: Iterable[tuple[object, ...]]) -> Checksum:
    counts = {"document": 0, "value": 0, "chunk": 0}
    total = 0
    for row in rows:
        counts[str(row[0])] += 1
        digest = blake3(repr(row).encode("utf-8", "surrogatepass")).digest(length=8)
        total += int.from_bytes(digest, "little")
    return Checksum(seq=seq, documents=counts["document"], chunks=counts["chunk"], total=total % 2**64)


logger = logging.getLogger(__name__)

# Interval between checks of a mirror.
_EVERY_S = 86_400.0
# Interval between searches for due mirrors: each stats every mirror.
_LOOK_EVERY_S = 3_600.0
_COPIES = ".check-"
# The first read pins the transaction's snapshot, so that one state is copied.
_BEGIN_READING = "SELECT count(*) FROM meta"
# Work between checks of the stop event: about 8 MB, or some milliseconds.
_PAGES = 2_000
_STEPS = 100_000


class DueChecks:
    """A queue of the mirrors below `root` that are due for a check, the longest unchecked first."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._due: deque[uuid.UUID] = deque()
        self._look_at = 0.0

    def next(self) -> uuid.UUID | None:
        """Return the next due mirror's workspace, None if none is due."""
        if not self._due and time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + _LOOK_EVERY_S
            self._due.extend(due_checks(self._root))
        return self._due.popleft() if self._due else None


def due_checks(root: Path) -> list[uuid.UUID]:
    """Return the workspaces whose mirrors below `root` were last checked, else built, over a day ago.

    The longest unchecked come first.
    """
    before = time.time() - _EVERY_S
    checked = {id_: MirrorFiles.of(root, id_).last_checked() for id_ in workspaces_on_this_node(root)}
    return sorted((id_ for id_, at in checked.items() if 0 < at < before), key=lambda id_: checked[id_])


def check_mirror(files: MirrorFiles, stop: threading.Event) -> None:
    """Check a temporary copy of a mirror, until `stop` is set. Raises MirrorDamaged.

    A mirror that can't be copied or read now, for lack of disk space for example, is left for another day. So
    is one whose check killed the process: its successor would otherwise start with the same mirror.
    """
    files.record_check()
    try:
        with tempfile.TemporaryDirectory(prefix=_COPIES, dir=files.directory.parent) as folder:
            copy = Path(folder) / "copy.sqlite3"
            _require_room(files)
            _copy(files, copy, stop)
            _check(copy, stop)
    except MirrorDamaged:
        files.clear_check()
        raise
    except apsw.InterruptError:
        files.clear_check()
    except (MirrorError, apsw.Error, OSError) as error:
        logger.warning("mirror %s is not checked now: %s", files.directory.name, error)


def remove_copies(root: Path) -> None:
    """Delete the copies below `root` that a killed process has left."""
    for folder in root.glob(f"{_COPIES}*"):
        shutil.rmtree(folder, ignore_errors=True)


def _require_room(files: MirrorFiles) -> None:
    """Raise MirrorBusy unless the disk has room for two copies."""
    needed, free = 2 * files.size_bytes(), shutil.disk_usage(files.directory).free
    if free < needed:
        raise MirrorBusy(f"{free:,} bytes are free on its disk, a copy is made where {needed:,} are")


def _copy(files: MirrorFiles, to: Path, stop: threading.Event) -> None:
    """Copy one state of the mirror, while others read and write it."""
    with files.read_lock(), closing(connections.open_reader(files.current())) as source, source:
        source.execute(_BEGIN_READING).fetchall()
        copy = apsw.Connection(str(to))
        with closing(copy), copy.backup("main", source, "main") as backup:
            while not backup.done:
                backup.step(_PAGES)
                if stop.is_set():
                    raise apsw.InterruptError("stopped")


def _check(path: Path, stop: threading.Event) -> None:
    with closing(connections.open_writer(path)) as copy:
        copy.set_progress_handler(stop.is_set, _STEPS)
        check_integrity(copy)
