"""The quality gate for changed settings of a workspace: those of search and those of indexing."""

from collections.abc import Mapping
from typing import Any, Final

from ingest.jobs.items.chunk_size import CHUNK_TOKENS
from ingest.jobs.kinds.rechunk import request_new_chunks
from kebab.identity.caller import Access, operator_access
from kebab.identity.models import Workspace
from kebab.people.workspace_settings.hooks import SettingsChange, changed_settings, proposed_workspace
from kebab.people.workspaces import delete_workspace
from search.errors import ChangeUntested
from search.evaluation.gate import ACTOR, Advance, GateVerdict, golden_topics
from search.evaluation.guard import settings_verdict
from search.mirror.sync.snapshot import STEMMING

#: Settings of indexing: golden queries can't be asked under them before documents are indexed again.
_INDEXING: Final = frozenset({CHUNK_TOKENS, STEMMING})


def refuse_untested(workspace: Workspace, changed: frozenset[str]) -> None:
    """Raise ChangeUntested for settings of indexing if the workspace has golden queries."""
    untested = sorted(changed & _INDEXING)
    if untested and golden_topics(workspace):
        raise ChangeUntested(
            f"The golden queries can't be asked before documents are indexed again for {', '.join(untested)}."
            " Try it in a copy of the workspace first (kebab export, kebab import); force changes it here."
        )


def judge_settings(workspace: Workspace, settings: Mapping[str, Any], *, advance: Advance) -> GateVerdict:
    """Judge `settings` by the golden queries; nothing is changed. Raises SearchError, ChangeUntested."""
    proposed = proposed_workspace(workspace, settings)
    changed = changed_settings(workspace, proposed)
    refuse_untested(workspace, changed)
    return settings_verdict(workspace, proposed, changed, advance=advance) if changed else GateVerdict()


def guard_indexing(change: SettingsChange) -> Mapping[str, Any]:
    """Let settings of indexing change untested by force alone; return the facts for the audit log.

    Raises ChangeUntested.
    """
    try:
        refuse_untested(change.workspace, change.changed)
    except ChangeUntested:
        if not change.is_forced:
            raise
        return {"quality_gate": {"passes": None, "is_forced": True}}
    return {}


def rechunk_if_changed(access: Access, workspace: Workspace, changed: frozenset[str]) -> None:
    """Request rechunking of all documents if the chunk size has changed."""
    if CHUNK_TOKENS in changed:
        request_new_chunks(workspace, requested_by=access.actor)


_SLUG = "^gate-copy-[0-9a-f]{16}$"


def delete_trial_copies() -> None:
    """Delete the copies. They have no members, and nothing else creates such slugs."""
    for copy in Workspace.objects.filter(slug__regex=_SLUG, memberships=None):
        delete_workspace(operator_access(copy, ACTOR))
