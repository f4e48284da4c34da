"""Application of the quality gate to changes of settings and embedding spaces, with audit facts."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from kebab.errors import FieldError
from kebab.identity.caller import Access
from kebab.identity.models import Workspace
from kebab.people.workspace_settings.hooks import SettingsChange
from kebab.people.workspace_settings.registry import ranking_preferences
from search.access.restrictions import hidden_sources
from search.errors import GateOutOfTime, GoldenQueriesWorse
from search.evaluation.gate import Advance, GateVerdict, golden_topics, judge, settings_variant, space_variant
from search.models import EmbeddingSpace
from search.rerank.configured import reranker

#: `none` disables the vector leg at once; another embedder has no effect before its space is live.
_SWITCHES_VECTORS_OFF: Final = "embedder"
_FORCE_HINT = "force changes it all the same"
_CAP: Final = "pre_rerank_max_per_file"
_MAX_LISTED = 10


def guard_settings(change: SettingsChange) -> Mapping[str, Any]:
    """Run the gate on a change of ranking settings, and return the facts for the audit log.

    Raises GoldenQueriesWorse, GateOutOfTime, SearchError.
    """
    if not change.changed & {*ranking_preferences(), _SWITCHES_VECTORS_OFF}:
        return {}

    def verdict() -> GateVerdict:
        return settings_verdict(change.workspace, change.proposed, change.changed, advance=change.advance)

    return allow_change(change.access, verdict, is_forced=change.is_forced)


def settings_verdict(
    workspace: Workspace,
    proposed: Workspace,
    changed: frozenset[str],
    *,
    advance: Advance | None = None,
) -> GateVerdict:
    """Compare the workspace under its current settings with those of `proposed`. Raises as `judge`."""
    # The cap before a reranker has no effect without one.
    rerank = _CAP in changed and reranker() is not None
    changes = ", ".join(f"{name}={proposed.settings.get(name)}" for name in sorted(changed))
    return judge(
        workspace,
        golden_topics(workspace),
        settings_variant(workspace, f"gate, before {changes}", rerank=rerank),
        settings_variant(proposed, f"gate, after {changes}", rerank=rerank),
        advance=advance,
    )


def allow_change(access: Access, verdict: Callable[[], GateVerdict], *, is_forced: bool) -> dict[str, Any]:
    """Allow a change that passes or is forced, and return its facts for the audit log.

    Raises GoldenQueriesWorse, GateOutOfTime.
    """
    try:
        found = verdict()
    except GateOutOfTime:
        if not is_forced:
            raise
        return {"quality_gate": {"passes": None, "is_forced": True}}
    if not found.passes and not is_forced:
        raise build_refusal(access, found)
    return {"quality_gate": {**found.figures, "is_forced": not found.passes}} if found.figures else {}


def build_refusal(access: Access, verdict: GateVerdict) -> GoldenQueriesWorse:
    """Return the error for a change that makes the golden queries worse.

    The figures cover all sources, so only callers who may read all of them receive figures.
    """
    if hidden_sources(access.workspace, access.reader).exists():
        without_figures = f"The golden queries get worse, so nothing was changed; {_FORCE_HINT}."
        return GoldenQueriesWorse(without_figures, sentence=verdict.sentence)
    errors = [
        FieldError(field=f"topics.{topic}", message=f"{gain:+.4f}: {text[:200]}")
        for topic, text, gain in verdict.differences(_MAX_LISTED)
    ]
    detail = f"{verdict.sentence} Nothing was changed; {_FORCE_HINT}."
    return GoldenQueriesWorse(detail, sentence=verdict.sentence, errors=errors)


def space_verdict(
    workspace: Workspace,
    building: EmbeddingSpace,
    *,
    advance: Advance | None = None,
) -> GateVerdict:
    """Compare the workspace's live vectors with those of `building`, which is complete. Raises as `judge`."""
    return judge(
        workspace,
        golden_topics(workspace),
        settings_variant(workspace, f"gate, before {building}"),
        space_variant(workspace, building, f"gate, after {building}"),
        advance=advance,
    )
