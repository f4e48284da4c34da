"""The mirror process: keeps every mirror of this node current, by notification and by a poll."""

import logging
import threading
import time
import uuid
from pathlib import Path

import psycopg
from django.db import Error, close_old_connections, connection

from kebab.people.models import Workspace
from kebab.tenancy.acting import acting_everywhere
from search.analysis import Analysis
from search.changelog import CHANNEL
from search.mirror import connections, sync
from search.mirror.errors import MirrorBusy, MirrorError
from search.mirror.files import MirrorFiles, workspaces_on_this_node
from search.mirror.snapshot import analysis_for

logger = logging.getLogger(__name__)

#: The guarantee; a notification only makes it sooner.
POLL_S = 1.0
# The least time between two looks while writes go on.
_STEP_S = 0.2
# After a failed look at Postgres.
_PAUSE_S = 1.0


class MirrorFollower:
    """Follows the log of every workspace that has a mirror below `root`, until `stop` is set."""

    def __init__(self, root: Path, stop: threading.Event) -> None:
        self._root = root
        self._stop = stop
        # The number of each mirror, and the analysis that it was asked to have.
        self._applied: dict[uuid.UUID, tuple[int, Analysis]] = {}

    def run(self) -> None:
        """Follow until stopped; losing Postgres only delays it."""
        while not self._stop.is_set():
            try:
                self._follow_while_connected()
            except (Error, psycopg.Error, OSError) as error:
                logger.warning("mirrors wait for Postgres: %s", error)
                self._stop.wait(_PAUSE_S)
            finally:
                close_old_connections()
                connection.close()

    def _follow_while_connected(self) -> None:
        parameters = connection.get_connection_params()
        parameters = {k: v for k, v in parameters.items() if k not in {"cursor_factory", "context", "pool"}}
        with psycopg.connect(**parameters, autocommit=True) as listener:
            listener.execute(f"LISTEN {CHANNEL}")
            while not self._stop.is_set():
                began = time.monotonic()
                if self.catch_up():
                    # What is written in a burst is followed in a few larger steps, a single write at once.
                    self._stop.wait(began + _STEP_S - time.monotonic())
                for _ in listener.notifies(timeout=POLL_S, stop_after=1):
                    pass

    def catch_up(self) -> bool:
        """Sync every mirror of this node that is behind; one query finds them. Give whether one was."""
        present = workspaces_on_this_node(self._root)
        with acting_everywhere():
            workspaces = Workspace.objects.filter(pk__in=present).only("head_seq", "settings")
            heads = {each.pk: (each.head_seq, analysis_for(each)) for each in workspaces}
        behind = [id_ for id_ in present if id_ in heads and self._applied.get(id_) != heads[id_]]
        for workspace_id in present:
            if workspace_id not in heads:
                self._forget(workspace_id)
        for workspace_id in behind:
            self._sync(workspace_id, heads[workspace_id][1])
        return bool(behind)

    def _sync(self, workspace_id: uuid.UUID, analysis: Analysis) -> None:
        files = MirrorFiles.of(self._root, workspace_id)
        try:
            report = sync.sync_mirror(files, workspace_id)
            if report.is_settled:
                self._applied[workspace_id] = report.applied_seq, analysis
        except MirrorBusy:
            self._applied.pop(workspace_id, None)
        except (MirrorError, OSError, connections.apsw.Error) as error:
            self._applied.pop(workspace_id, None)
            logger.error("mirror of %s can't be written: %s", workspace_id, error)
            time.sleep(0.1)
        except Workspace.DoesNotExist:
            self._forget(workspace_id)

    def _forget(self, workspace_id: uuid.UUID) -> None:
        logger.info("workspace %s is gone; its mirror is removed", workspace_id)
        self._applied.pop(workspace_id, None)
        MirrorFiles.of(self._root, workspace_id).remove_all()
