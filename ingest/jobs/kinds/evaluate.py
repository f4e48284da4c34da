"""Asking a run's topics: once each, whatever becomes of the worker, under the rights of who asked for it."""

import time
from collections.abc import Iterator

from ingest.errors import JobFailed, TurnOver
from ingest.jobs.queue.context import Ending, Work
from kebab.http.api.errors import Conflict
from kebab.people.access.caller import access_by_identity
from kebab.people.models import Scope
from kebab.people.reader import Reader
from kebab.runtime import failpoints
from kebab.stack.supervisor import worker_stop
from search.evaluation.runs import carry_out
from search.mirror import local_mirrors
from search.models import Run, RunState, RunTopic
from search.retrieval.errors import NotSearchableYet, SearchError

# A run makes room after this while other jobs wait.
_TURN_S = 30.0
# How long this node's mirror may take to come to what was written before the run.
_MIRROR_LIMIT_S = 120.0
# How often work that waits for the mirror asks whether it is to end.
_LOOK_S = 0.5


def run(work: Work) -> Ending:
    """Ask what the run has not asked yet. Raises JobFailed, JobCancelled, LeaseLost, TurnOver."""
    asked = Run.objects.in_workspace(work.workspace).filter(pk=work.job.payload["run"]).first()
    if asked is None:
        raise JobFailed("The run was deleted before it was carried out.")
    if asked.state == RunState.SUCCEEDED:  # a worker died between its end and the job's
        return Ending.DONE
    reader = _reader(work, asked)
    _await_mirror(work)
    try:
        carry_out(asked, reader=reader, advance=_Counter(work, asked).advance)
    except (SearchError, Conflict) as error:
        if work.lease.held().filter(cancel_requested=True).exists():  # the run was deleted meanwhile
            return Ending.CANCELLED
        raise JobFailed(str(error)) from error
    return Ending.DONE


def _reader(work: Work, asked: Run) -> Reader:
    """Return what the run may be asked from: what its creator may read now."""
    access = access_by_identity(work.workspace, asked.creator)
    if access is None or Scope.MANAGE not in access.scopes:
        raise JobFailed(f"{asked.created_by} may not evaluate here any more; ask for a run of your own.")
    return access.reader


def _await_mirror(work: Work) -> None:
    """Return once this node's mirror shows what was written before. Raises JobFailed, JobCancelled."""
    deadline = time.monotonic() + _MIRROR_LIMIT_S
    while True:
        try:
            local_mirrors.wait_for_seq(work.workspace.pk, work.workspace.head_seq, limit_s=_LOOK_S)
        except NotSearchableYet as error:
            work.go_on()
            if time.monotonic() > deadline:
                raise JobFailed(
                    f"Change {work.workspace.head_seq} was not searchable here after {_MIRROR_LIMIT_S:.0f} s;"
                    " see `kebab doctor`, then retry the job."
                ) from error
        else:
            return


class _Counter:
    """Counts asked topics behind the job's fence, each in the transaction that stores what came of it."""

    def __init__(self, work: Work, asked: Run) -> None:
        self._work = work
        self._pending = _pending_ids(asked)
        self._turn_ends_at = time.monotonic() + _TURN_S

    def advance(self) -> None:
        """Count one. Raises JobCancelled, LeaseLost; TurnOver when others have waited or the worker stops."""
        self._work.count_items(1, path=next(self._pending, ""), calls=1)
        failpoints.reached("after_topic")
        if worker_stop.is_asked() or self._is_turn_over():
            raise TurnOver(f"Job {self._work.job.pk} makes room.")

    def _is_turn_over(self) -> bool:
        return time.monotonic() > self._turn_ends_at and self._work.others_wait(embedding=False)


def _pending_ids(asked: Run) -> Iterator[str]:
    rows = RunTopic.objects.in_workspace(asked.workspace_id).filter(run=asked.pk, ranking__isnull=True)
    return iter(list(rows.order_by("ordinal").values_list("topic_id", flat=True)))
