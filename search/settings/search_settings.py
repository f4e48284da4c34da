"""The workspace settings that a search reads, with their types."""

from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

from kebab.people.models import Workspace
from kebab.people.workspace_settings.registry import known_preferences
from search.retrieval.fusion.post_fusion import Stages
from search.retrieval.types import Fusion, SearchQuery

# Combinations of stored values that are kept; most workspaces have the defaults.
_KNOWN_SETTINGS = 256


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
    recency: float
    recency_half_life_days: int

    @classmethod
    def of(cls, workspace: Workspace) -> "SearchSettings":
        """Return the settings of `workspace`."""
        return _fill(*map(workspace.settings.get, _NAMES))

    def stages(self, query: SearchQuery) -> Stages:
        """Return the stages that follow the fusion of `query`."""
        return Stages.of(
            query,
            self.pre_rerank_max_per_file,
            recency=self.recency,
            half_life_days=self.recency_half_life_days,
        )


_NAMES = tuple(each.name for each in fields(SearchSettings))


@lru_cache(maxsize=_KNOWN_SETTINGS, typed=True)
def _fill(*stored: Any) -> SearchSettings:
    """Return the settings for the stored values in order, None for the default."""
    known = known_preferences()
    values = {
        name: known[name].default if value is None else value
        for name, value in zip(_NAMES, stored, strict=True)
    }
    return SearchSettings(**{**values, "fusion": Fusion(values["fusion"])})
