"""Whether a mirror's indexes are sound, looked at once a day though nobody asks.

SQLite tells of damage that it stumbles on. An index that merely lacks rows answers as if they were not there,
so FTS5 and the posting lists are compared with the text. A copy is, for the comparison writes and takes
minutes of a large mirror, which is to be followed meanwhile.
"""

import logging
import shutil
import tempfile
import threading
import time
import uuid
from collections import deque
from contextlib import closing
from pathlib import Path

import apsw

from search.mirror import connections
from search.mirror.errors import MirrorBusy, MirrorDamaged, MirrorError
from search.mirror.files import MirrorFiles, workspaces_on_this_node
from search.mirror.sync.checksum import check_integrity

logger = logging.getLogger(__name__)

# A mirror is checked so long after it was made or checked.
_EVERY_S = 86_400.0
# Between two looks for what is due: each asks the disk about every mirror.
_LOOK_EVERY_S = 3_600.0
_COPIES = ".check-"
# One state is copied, whatever is written between two steps: the transaction holds it from its first look on.
_BEGIN_READING = "SELECT count(*) FROM meta"
# Between two looks at whether to stop: some 8 MB, or some milliseconds.
_PAGES = 2_000
_STEPS = 100_000


class DueChecks:
    """Which mirrors below `root` are due, the longest unchecked first."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._due: deque[uuid.UUID] = deque()
        self._look_at = 0.0

    def next(self) -> uuid.UUID | None:
        """Return the next one, None where none is due."""
        if not self._due and time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + _LOOK_EVERY_S
            self._due.extend(due_checks(self._root))
        return self._due.popleft() if self._due else None


def due_checks(root: Path) -> list[uuid.UUID]:
    """Return the workspaces whose mirrors below `root` were made and checked over a day ago."""
    before = time.time() - _EVERY_S
    checked = {id_: MirrorFiles.of(root, id_).last_checked() for id_ in workspaces_on_this_node(root)}
    return sorted((id_ for id_, at in checked.items() if 0 < at < before), key=lambda id_: checked[id_])


def check_mirror(files: MirrorFiles, stop: threading.Event) -> None:
    """Check a copy of a mirror, which is gone afterwards, until `stop` is set. Raises MirrorDamaged.

    What can't be copied or read now, for want of room for example, is left to another day. So is what ended
    the process: its successor would else begin with the same mirror, and end.
    """
    files.note_check()
    try:
        with tempfile.TemporaryDirectory(prefix=_COPIES, dir=files.directory.parent) as folder:
            copy = Path(folder) / "copy.sqlite3"
            _require_room(files)
            _copy(files, copy, stop)
            _check(copy, stop)
    except MirrorDamaged:
        files.forget_check()
        raise
    except apsw.InterruptError:
        files.forget_check()
    except (MirrorError, apsw.Error, OSError) as error:
        logger.warning("mirror %s is not checked now: %s", files.directory.name, error)


def remove_copies(root: Path) -> None:
    """Remove the copies below `root` that a killed process has left."""
    for left in root.glob(f"{_COPIES}*"):
        shutil.rmtree(left, ignore_errors=True)


def _require_room(files: MirrorFiles) -> None:
    """Raise MirrorBusy where a copy would leave others less room than it takes itself."""
    needed, free = 2 * files.size_bytes(), shutil.disk_usage(files.directory).free
    if free < needed:
        raise MirrorBusy(f"{free:,} bytes are free on its disk, a copy is made where {needed:,} are")


def _copy(files: MirrorFiles, to: Path, stop: threading.Event) -> None:
    """Copy the mirror as it is at one moment, while others read and write it."""
    with files.in_use(), closing(connections.open_reader(files.current())) as source, source:
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
