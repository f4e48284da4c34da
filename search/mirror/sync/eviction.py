"""Dropping mirrors that nobody uses: by their age, and until a node's mirrors fit their room.

The mirror process does it, so that one process of a node decides and what it follows is what there is.
"""

import logging
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from search.mirror.errors import MirrorBusy
from search.mirror.files import MirrorFiles, workspaces_on_this_node

logger = logging.getLogger(__name__)

# A mirror used since is not dropped, however little room there is: it would only be made anew.
_WARM_S = 600.0
# Of those that nobody uses, in one look: a clock that was wrong for a moment costs no node all it has.
_IDLE_AT_ONCE = 20
_DAY_S = 86_400.0


def drop_cold(root: Path, *, idle_days: int, limit_bytes: int) -> int:
    """Drop what was not used for `idle_days`, then the least recently used until all fit `limit_bytes`.

    0 is no limit in either. Gives how many were dropped; one that is written or read now is left to the
    next look.
    """
    now = time.time()
    mirrors = [MirrorFiles.of(root, id_) for id_ in workspaces_on_this_node(root)]
    unused = sorted(((files.last_used(), files) for files in mirrors), key=lambda each: each[0])
    idle = [files for used, files in unused if idle_days and used < now - idle_days * _DAY_S]
    tried = idle[:_IDLE_AT_ONCE]
    dropped = _drop(tried, f"no search has used it for {idle_days} days")
    if limit_bytes:
        cold = [files for used, files in unused[len(tried) :] if used < now - _WARM_S]
        dropped += _make_room(mirrors, cold, limit_bytes)
    return dropped


def _make_room(mirrors: Iterable[MirrorFiles], cold: Sequence[MirrorFiles], limit_bytes: int) -> int:
    sizes = {files: files.size_bytes() for files in mirrors}
    excess, dropped = sum(sizes.values()) - limit_bytes, 0
    for files in cold:
        if excess <= 0:
            break
        if _drop([files], f"all together take more than {limit_bytes:,} bytes"):
            excess, dropped = excess - sizes[files], dropped + 1
    if excess > 0:
        logger.warning("mirrors that are in use take %s bytes more than KEBAB_MIRROR_LIMIT_BYTES", excess)
    return dropped


def _drop(mirrors: Iterable[MirrorFiles], reason: str) -> int:
    dropped = 0
    for files in mirrors:
        try:
            with files.writing():
                if not files.drop():
                    continue
        except (MirrorBusy, OSError) as error:
            logger.info("mirror %s is not dropped now: %s", files.directory.name, error)
            continue
        logger.info("mirror %s is dropped: %s", files.directory.name, reason)
        dropped += 1
    return dropped
