"""Evaluation jobs: each topic of a run is searched once, under the rights of the run's creator."""

import time

from ingest.errors import JobFailed, JobYielded
from ingest.jobs.queue.context import Ending, JobContext
from kebab.errors import Conflict
from kebab.identity.caller import access_by_identity
from kebab.identity.models import TokenScope
from kebab.runtime import failpoints
from kebab.stack.supervisor import worker_stop
from search.evaluation.runs import execute_run
from search.mirror import local_mirrors
from search.models import Run, RunState, RunTopic
from search.retrieval.errors import NotSearchableYet, SearchError

# A run yields after this time while other jobs wait.
_TURN_S = 30.0
# Longest wait for this node's mirror to reach the changes that were written before the run.
_MIRROR_LIMIT_S = 120.0
# While the mirror is awaited, interval of checks for cancellation.
_LOOK_S = 0.5


def run(context: JobContext) -> Ending:
    """Evaluate the run's remaining topics. Raises JobFailed, JobCancelled, LeaseLost, JobYielded."""
    evaluation_run = Run.objects.in_workspace(context.workspace).filter(pk=context.job.payload["run"]).first()
    if evaluation_run is None:
        raise JobFailed("The run was deleted before it was carried out.")
    if evaluation_run.state == RunState.SUCCEEDED:  # a worker died between the run's end and the job's
        return Ending.DONE
    access = access_by_identity(context.workspace, evaluation_run.creator)
    if access is None or TokenScope.MANAGE not in access.scopes:
        raise JobFailed(
            f"{evaluation_run.created_by} may not evaluate here any more; ask for a run of your own."
        )
    reader = access.reader
    _wait_for_mirror(context)
    try:
        execute_run(evaluation_run, reader=reader, advance=_TopicCounter(context, evaluation_run).advance)
    except (SearchError, Conflict) as error:
        if context.lease.fenced_rows().filter(cancel_requested=True).exists():  # run deleted meanwhile
            return Ending.CANCELLED
        raise JobFailed(str(error)) from error
    return Ending.DONE


def _wait_for_mirror(context: JobContext) -> None:
    """Wait until this node's mirror has all changes before the run. Raises JobFailed, JobCancelled."""
    deadline = time.monotonic() + _MIRROR_LIMIT_S
    while True:
        try:
            local_mirrors.wait_for_seq(context.workspace.pk, context.workspace.head_seq, limit_s=_LOOK_S)
        except NotSearchableYet as error:
            context.raise_if_stopped()
            if time.monotonic() > deadline:
                raise JobFailed(
                    f"Change {context.workspace.head_seq} was not searchable here after"
                    f" {_MIRROR_LIMIT_S:.0f} s; see `kebab doctor`, then retry the job."
                ) from error
        else:
            return


class _TopicCounter:
    """A counter of evaluated topics behind the job's fence, in the transaction that stores each ranking."""

    def __init__(self, context: JobContext, evaluation_run: Run) -> None:
        self._context = context
        rows = RunTopic.objects.in_workspace(evaluation_run.workspace_id).filter(
            run=evaluation_run.pk, ranking__isnull=True
        )
        self._pending = iter(list(rows.order_by("ordinal").values_list("topic_id", flat=True)))
        self._turn_ends_at = time.monotonic() + _TURN_S

    def advance(self) -> None:
        """Count a topic. Raises JobCancelled, LeaseLost; JobYielded when others wait or the worker stops."""
        self._context.count_items(1, path=next(self._pending, ""), calls=1)
        failpoints.reach("after_topic")
        if worker_stop.is_requested() or (
            time.monotonic() > self._turn_ends_at and self._context.others_wait(embedding=False)
        ):
            raise JobYielded(f"Job {self._context.job.pk} makes room.")
