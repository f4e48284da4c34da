"""The quality gate for changed settings of a workspace: those of search and those of indexing."""

from collections.abc import Mapping
from typing import Any, Final

from ingest.jobs.items.chunk_size import CHUNK_TOKENS
from ingest.jobs.kinds.rechunk import request_new_chunks
from ingest.quality_gate.reindex_trial import trial_verdict
from kebab.people.access.caller import Access
from kebab.people.models import Workspace
from kebab.people.workspace_settings.hooks import SettingsChange, changed_settings, proposed_workspace
from search.errors import GateOutOfTime
from search.evaluation.gate import Advance, GateVerdict, golden_topics
from search.evaluation.guard import allow_change, settings_verdict
from search.mirror.sync.snapshot import STEMMING

#: Settings of indexing: tried in a copy of the workspace before they apply.
INDEXING: Final = frozenset({CHUNK_TOKENS, STEMMING})


def judge_settings(workspace: Workspace, settings: Mapping[str, Any], *, advance: Advance) -> GateVerdict:
    """Judge `settings`, of any kind, by the golden queries; nothing is changed.

    Without settings, new chunks by the present chunker are judged against the stored ones.

    Raises SearchError, and SandboxUnavailable when documents must be chunked for it.
    """
    proposed = proposed_workspace(workspace, settings)
    changed = changed_settings(workspace, proposed)
    rechunks = CHUNK_TOKENS in changed or not settings
    if rechunks or changed & INDEXING:
        return trial_verdict(workspace, proposed, rechunks=rechunks, advance=advance)
    return settings_verdict(workspace, proposed, changed, advance=advance) if changed else GateVerdict()


def guard_indexing(change: SettingsChange) -> Mapping[str, Any]:
    """Try settings of indexing in a copy before they apply; return the facts for the audit log.

    Raises GoldenQueriesWorse; GateOutOfTime when a request waits for the answer.
    """
    if not change.changed & INDEXING:
        return {}

    def verdict() -> GateVerdict:
        if change.advance is not None:
            return trial_verdict(
                change.workspace,
                change.proposed,
                rechunks=CHUNK_TOKENS in change.changed,
                advance=change.advance,
            )
        if golden_topics(change.workspace):
            raise GateOutOfTime(
                f"{', '.join(sorted(change.changed & INDEXING))} is tried in a copy of documents first, which"
                " takes longer than a request waits. Have a job do it: POST …/eval/gate with switch."
            )
        return GateVerdict()

    return allow_change(change.access, verdict, is_forced=change.is_forced)


def rechunk_if_changed(access: Access, workspace: Workspace, changed: frozenset[str]) -> None:
    """Request rechunking of all documents if the chunk size has changed."""
    if CHUNK_TOKENS in changed:
        request_new_chunks(workspace, requested_by=access.actor)
