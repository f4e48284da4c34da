"""Gate jobs: the golden queries judge other settings or new chunks, which on request are then applied."""

from collections.abc import Mapping
from typing import Any

from ingest.errors import JobFailed
from ingest.jobs.queue.context import Ending, JobContext
from ingest.quality_gate.gate import judge_settings
from ingest.quality_gate.older_chunks import replace_older_chunks
from kebab.http.api.errors import Conflict
from kebab.people.access.caller import Access, access_by_identity, operator_access
from kebab.people.models import TokenScope
from kebab.people.workspaces import change_workspace
from search.errors import GoldenQueriesWorse
from search.evaluation.gate import ACTOR
from search.evaluation.guard import build_refusal
from search.retrieval.errors import SearchError


def run(context: JobContext) -> Ending:
    """Judge the settings of the payload, or without any new chunks; with `switch` apply them.

    Raises JobFailed with the reason.
    """
    access = _requester_access(context)
    payload: Mapping[str, Any] = context.job.payload
    settings = dict(payload["settings"])
    try:
        if payload["switch"] and not settings:
            replace_older_chunks(access, is_forced=payload["force"], advance=context.raise_if_stopped)
        elif payload["switch"]:
            change_workspace(
                access, settings=settings, force=payload["force"], advance=context.raise_if_stopped
            )
        else:
            _judge(access, context, settings)
    except (GoldenQueriesWorse, SearchError, Conflict) as error:
        raise JobFailed(str(error)) from error
    return Ending.DONE


def _judge(access: Access, context: JobContext, settings: Mapping[str, Any]) -> None:
    verdict = judge_settings(context.workspace, settings, advance=context.raise_if_stopped)
    if not verdict.passes:
        raise build_refusal(access, verdict)


def _requester_access(context: JobContext) -> Access:
    """Return the present rights of the job's requester. Raises JobFailed when settings may not be changed."""
    creator = context.job.payload["creator"]
    if creator == ACTOR:  # the periodic task for older chunks
        return operator_access(context.workspace, ACTOR)
    access = access_by_identity(context.workspace, creator)
    if access is None or TokenScope.MANAGE not in access.scopes:
        raise JobFailed(f"{context.job.requested_by} may not change settings here any more.")
    return access
