"""Records of when mirrors were last used, written at most once a minute for each."""

import time
import uuid
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from search.mirror.files import MirrorFiles

_EVERY_S = 60.0
# Workspaces remembered as recorded; with more, some are recorded more often.
_REMEMBERED = 10_000


class UseRecorder:
    """Recorder of this process's use of mirrors. Safe for threads."""

    def __init__(self, files_of: Callable[[uuid.UUID], MirrorFiles], every_s: float = _EVERY_S) -> None:
        self._files_of = files_of
        self._every_s = every_s
        self._recorded: OrderedDict[uuid.UUID, float] = OrderedDict()
        self._lock = Lock()

    def record(self, workspace_id: uuid.UUID) -> None:
        """Record that a workspace's mirror is used now, unless that was recorded a moment ago."""
        now = time.monotonic()
        with self._lock:
            last = self._recorded.get(workspace_id)
            if last is not None and now - last < self._every_s:
                return
            self._recorded[workspace_id] = now
            self._recorded.move_to_end(workspace_id)
            if len(self._recorded) > _REMEMBERED:
                self._recorded.popitem(last=False)
        self._files_of(workspace_id).record_use()
