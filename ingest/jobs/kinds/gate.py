"""Having the golden queries judge other settings, and changing to them where that is wanted."""

from collections.abc import Mapping
from typing import Any

from ingest.errors import JobFailed
from ingest.jobs.queue.context import Ending, Work
from ingest.quality_gate.gate import verdict_of
from kebab.http.api.errors import Conflict
from kebab.people.access.caller import Access, access_by_identity
from kebab.people.models import Scope
from kebab.people.workspaces import change_workspace
from search.errors import GoldenQueriesWorse
from search.evaluation.guard import refusal
from search.retrieval.errors import SearchError


def run(work: Work) -> Ending:
    """Judge the settings of the payload; with `switch` have them. Raises JobFailed with why not."""
    access = _access(work)
    payload: Mapping[str, Any] = work.job.payload
    settings = dict(payload["settings"])
    try:
        if payload["switch"]:
            change_workspace(access, settings=settings, force=payload["force"], advance=work.go_on)
        else:
            _judge(access, work, settings)
    except (GoldenQueriesWorse, SearchError, Conflict) as error:
        raise JobFailed(str(error)) from error
    return Ending.DONE


def _judge(access: Access, work: Work, settings: Mapping[str, Any]) -> None:
    verdict = verdict_of(work.workspace, settings, advance=work.go_on)
    if not verdict.passes:
        raise refusal(access, verdict)


def _access(work: Work) -> Access:
    """Return what its requester may do now. Raises JobFailed."""
    access = access_by_identity(work.workspace, work.job.payload["creator"])
    if access is None or Scope.MANAGE not in access.scopes:
        raise JobFailed(f"{work.job.requested_by} may not change settings here any more.")
    return access
