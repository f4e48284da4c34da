"""Gate jobs: the golden queries judge other settings, which on request are then applied."""

from collections.abc import Mapping
from typing import Any

from ingest.errors import JobFailed
from ingest.jobs.queue.context import Ending, JobContext
from ingest.quality_gate.gate import judge_settings
from ingest.quality_gate.older_chunks import UNCONFIRMED, replace_older_chunks
from kebab.errors import Conflict
from kebab.identity.caller import access_by_identity
from kebab.identity.models import TokenScope
from kebab.people.workspaces import change_workspace
from search.errors import ChangeUntested, GoldenQueriesWorse
from search.evaluation.guard import build_refusal
from search.retrieval.errors import SearchError


def run(context: JobContext) -> Ending:
    """Judge the settings of the payload, and with `switch` apply them; without any replace older chunks.

    Raises JobFailed with the reason.
    """
    payload: Mapping[str, Any] = context.job.payload
    settings, switch, force = dict(payload["settings"]), payload["switch"], payload["force"]
    if not (settings or (switch and force)):  # a job of a release up to 0.3
        raise JobFailed(UNCONFIRMED)
    access = access_by_identity(context.workspace, context.job.payload["creator"])
    if access is None or TokenScope.MANAGE not in access.scopes:
        raise JobFailed(f"{context.job.requested_by} may not change settings here any more.")
    try:
        if not settings:
            replace_older_chunks(access)
        elif switch:
            change_workspace(access, settings=settings, force=force, advance=context.raise_if_stopped)
        else:
            verdict = judge_settings(context.workspace, settings, advance=context.raise_if_stopped)
            if not verdict.passes:
                raise build_refusal(access, verdict)
    except (GoldenQueriesWorse, ChangeUntested, SearchError, Conflict) as error:
        raise JobFailed(str(error)) from error
    return Ending.DONE
