"""When mirrors were last used: written down once a minute for each, whatever the number of searches."""

import time
import uuid
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from search.mirror.files import MirrorFiles

_EVERY_S = 60.0
# Of workspaces that a process remembers having noted; of more some are noted more often.
_REMEMBERED = 10_000


class RecentUse:
    """Notes which mirrors this process uses. Safe for threads."""

    def __init__(self, files_of: Callable[[uuid.UUID], MirrorFiles], every_s: float = _EVERY_S) -> None:
        self._files_of = files_of
        self._every_s = every_s
        self._noted: OrderedDict[uuid.UUID, float] = OrderedDict()
        self._lock = Lock()

    def note(self, workspace_id: uuid.UUID) -> None:
        """Note that a workspace's mirror is used now, unless that was noted a moment ago."""
        now = time.monotonic()
        with self._lock:
            last = self._noted.get(workspace_id)
            if last is not None and now - last < self._every_s:
                return
            self._noted[workspace_id] = now
            self._noted.move_to_end(workspace_id)
            if len(self._noted) > _REMEMBERED:
                self._noted.popitem(last=False)
        self._files_of(workspace_id).note_use()
