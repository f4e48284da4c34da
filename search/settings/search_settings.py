"""The workspace settings that a search reads, with their types."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Final

from kebab.identity.caller import Need
from kebab.identity.models import Role, TokenScope, Workspace
from kebab.people.workspace_settings.registry import known_preferences
from search.retrieval.fusion.post_fusion import Stages
from search.retrieval.query.rules import NO_RULES, Boost, SearchRules, compile_rules
from search.retrieval.types import Fusion, SearchQuery

#: The name of the setting that has the search rules.
RULES: Final = "rules"
#: What reading and changing rules needs. They name sources and documents that owners and admins read.
MANAGE_RULES: Final = Need(role=Role.ADMIN, scope=TokenScope.MANAGE, is_personal=True)
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

    def stages(self, query: SearchQuery, boosts: tuple[Boost, ...] = ()) -> Stages:
        """Return the stages that follow the fusion of `query`."""
        return Stages.of(
            query,
            self.pre_rerank_max_per_file,
            recency=self.recency,
            half_life_days=self.recency_half_life_days,
            boosts=boosts,
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


def rules_of(workspace: Workspace) -> SearchRules:
    """Return the search rules of `workspace`."""
    stored = workspace.settings.get(RULES)
    return NO_RULES if stored is None else _compiled_rules.get(stored)


class _CompiledRules:
    """Compiled rules by their version, which is derived from their content."""

    def __init__(self) -> None:
        self._by_version: dict[str, SearchRules] = {}

    def get(self, stored: Mapping[str, Any]) -> SearchRules:
        """Return the rules of a stored setting."""
        version = stored["version"]
        if (known := self._by_version.get(version)) is None:
            if len(self._by_version) >= _KNOWN_SETTINGS:
                self._by_version.clear()
            known = self._by_version[version] = compile_rules(stored["entries"])
        return known


_compiled_rules = _CompiledRules()
