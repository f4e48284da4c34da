"""The workspace settings that a search reads, with their types."""

from dataclasses import dataclass, fields
from typing import Self

from kebab.people.models import Workspace
from kebab.people.workspace_settings.registry import known_preferences
from search.retrieval.types import Fusion


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """Effective settings of one workspace; `search/settings/preferences.py` has their defaults and ranges."""

    default_k: int
    snippet_chars: int
    fusion: Fusion
    rrf_k: int
    vector_share: float
    breadcrumb_weight: float
    pre_rerank_max_per_file: int
    score_gate: float
    stale_after_days: int

    @classmethod
    def of(cls, workspace: Workspace) -> Self:
        """Return the settings of `workspace`."""
        known, stored = known_preferences(), workspace.settings
        values = {each.name: stored.get(each.name, known[each.name].default) for each in fields(cls)}
        return cls(**{**values, "fusion": Fusion(values["fusion"])})
