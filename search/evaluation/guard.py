"""The gate at the doors: what it lets pass, what it refuses, and what the audit log is told."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from kebab.http.api.errors import FieldError
from kebab.people.access.caller import Access
from kebab.people.models import Workspace
from kebab.people.workspace_settings.hooks import SettingsChange
from kebab.people.workspace_settings.registry import ranking_preferences
from search.access.restrictions import hidden_from
from search.errors import GateOutOfTime, GoldenQueriesWorse
from search.evaluation.gate import Advance, Verdict, golden_topics, judge, settings_state, space_state
from search.models import EmbeddingSpace
from search.rerank import configured_reranker

#: `none` switches the vector leg off at once; another embedder changes nothing before its space is live.
_SWITCHES_VECTORS_OFF: Final = "embedder"
_FORCED_AS_TOLD = "force changes it all the same"
_CAP: Final = "pre_rerank_max_per_file"
_MOST_NAMED = 10


def guard_settings(change: SettingsChange) -> Mapping[str, Any]:
    """Have the golden queries say what they lose by settings that rank; give what the audit log is to hold.

    Raises GoldenQueriesWorse, GateOutOfTime, SearchError.
    """
    if not change.changed & {*ranking_preferences(), _SWITCHES_VECTORS_OFF}:
        return {}

    def verdict() -> Verdict:
        return settings_verdict(change.workspace, change.proposed, change.changed, advance=change.advance)

    return passed(change.access, verdict, is_forced=change.is_forced)


def settings_verdict(
    workspace: Workspace,
    proposed: Workspace,
    changed: frozenset[str],
    *,
    advance: Advance | None = None,
) -> Verdict:
    """Compare the workspace under its settings with the same under `proposed`. Raises as `judge`."""
    # The cap before a reranker ranks nothing without one.
    rerank = _CAP in changed and configured_reranker() is not None
    what = ", ".join(f"{name}={proposed.settings.get(name)}" for name in sorted(changed))
    return judge(
        workspace,
        golden_topics(workspace),
        settings_state(workspace, f"gate, before {what}", rerank=rerank),
        settings_state(proposed, f"gate, after {what}", rerank=rerank),
        advance=advance,
    )


def passed(access: Access, verdict: Callable[[], Verdict], *, is_forced: bool) -> dict[str, Any]:
    """Return what the audit log is to hold of a change that is let pass, by its verdict or by force.

    Raises GoldenQueriesWorse, GateOutOfTime.
    """
    try:
        found = verdict()
    except GateOutOfTime:
        if not is_forced:
            raise
        return {"quality_gate": {"passes": None, "is_forced": True}}
    if not found.passes and not is_forced:
        raise refusal(access, found)
    return {"quality_gate": {**found.figures, "is_forced": not found.passes}} if found.figures else {}


def refusal(access: Access, verdict: Verdict) -> GoldenQueriesWorse:
    """Return the error for a change that makes the golden queries worse.

    Figures are of all sources, so they are told to who reads them all.
    """
    if hidden_from(access.workspace, access.reader).exists():
        told = f"The golden queries get worse, so nothing was changed; {_FORCED_AS_TOLD}."
        return GoldenQueriesWorse(told, sentence=verdict.sentence)
    named = [
        FieldError(field=f"topics.{topic}", message=f"{gain:+.4f}: {text[:200]}")
        for topic, text, gain in verdict.differences(_MOST_NAMED)
    ]
    detail = f"{verdict.sentence} Nothing was changed; {_FORCED_AS_TOLD}."
    return GoldenQueriesWorse(detail, sentence=verdict.sentence, errors=named)


def space_verdict(
    workspace: Workspace,
    building: EmbeddingSpace,
    *,
    advance: Advance | None = None,
) -> Verdict:
    """Compare the workspace's live vectors with those of `building`, which is complete. Raises as `judge`."""
    return judge(
        workspace,
        golden_topics(workspace),
        settings_state(workspace, f"gate, before {building}"),
        space_state(workspace, building, f"gate, after {building}"),
        advance=advance,
    )
