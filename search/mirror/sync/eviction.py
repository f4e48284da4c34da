"""Eviction of unused mirrors: by age, and until a node's mirrors fit their size limit.

Only the mirror process evicts, so that one process of a node decides and follows what is left.
"""

import logging
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from search.mirror.errors import MirrorBusy
from search.mirror.files import MirrorFiles, workspaces_on_this_node

logger = logging.getLogger(__name__)

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
