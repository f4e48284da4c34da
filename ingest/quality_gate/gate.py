"""The gate for whatever a workspace's settings change: how its queries are answered, and how it is cut."""

from collections.abc import Mapping
from typing import Any, Final

from ingest.jobs.items.chunk_size import CHUNK_TOKENS
from ingest.jobs.kinds.rechunk import request_new_chunks
from ingest.quality_gate.reindex_trial import trial_verdict
from kebab.people.access.caller import Access
from kebab.people.models import Workspace
from kebab.people.workspace_settings.hooks import SettingsChange, differing, proposed_workspace
from search.errors import GateOutOfTime
from search.evaluation.gate import Advance, Verdict, golden_topics
from search.evaluation.guard import passed, settings_verdict
from search.mirror.sync.snapshot import STEMMING

#: Settings that say how documents are indexed: tried in a copy before they are had.
INDEXING: Final = frozenset({CHUNK_TOKENS, STEMMING})


def verdict_of(workspace: Workspace, settings: Mapping[str, Any], *, advance: Advance) -> Verdict:
    """Return what the golden queries think of `settings`, of whatever kind, without changing anything.

    Raises SearchError, and SandboxUnavailable where documents have to be cut for it.
    """
    proposed = proposed_workspace(workspace, settings)
    changed = differing(workspace, proposed)
    if changed & INDEXING:
        return trial_verdict(workspace, proposed, advance=advance)
    return settings_verdict(workspace, proposed, changed, advance=advance) if changed else Verdict()


def guard_indexing(change: SettingsChange) -> Mapping[str, Any]:
    """Try settings of the index in a copy before they are had; give what the audit log is to hold.

    Raises GoldenQueriesWorse; GateOutOfTime where a request waits for the answer.
    """
    if not change.changed & INDEXING:
        return {}

    def verdict() -> Verdict:
        if change.advance is not None:
            return trial_verdict(change.workspace, change.proposed, advance=change.advance)
        if golden_topics(change.workspace):
            raise GateOutOfTime(
                f"{', '.join(sorted(change.changed & INDEXING))} is tried in a copy of documents first, which"
                " takes longer than a request waits. Have a job do it: POST …/eval/gate with switch."
            )
        return Verdict()

    return passed(change.access, verdict, is_forced=change.is_forced)


def follow_indexing(access: Access, workspace: Workspace, changed: frozenset[str]) -> None:
    """Have the documents cut again where the settings say otherwise now."""
    if CHUNK_TOKENS in changed:
        request_new_chunks(workspace, requested_by=access.actor)
