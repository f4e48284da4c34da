"""Settings of a run, which override those of the workspace."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kebab.identity.models import Workspace
from kebab.people.workspace_settings.hooks import proposed_workspace
from kebab.people.workspace_settings.registry import clean_preferences, ranking_preferences
from search.evaluation.judged import JudgedTopic
from search.retrieval.errors import InvalidQuery, InvalidRunSetting, preview
from search.retrieval.query.filter_codec import filters_from_json
from search.retrieval.types import MAX_K, Mode, SearchQuery

#: Documents in a ranking.
DEFAULT_DEPTH = 100

_PARAMETERS = ("mode", "k", "per_file_cap", "rerank", "cutoff")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """Settings of a run; the workspace is never written to. Create it with `of`, which validates."""

    mode: Mode = Mode.HYBRID
    #: Most documents in a ranking.
    k: int = DEFAULT_DEPTH
    #: As in a search request.
    per_file_cap: int | None = None
    rerank: bool = False
    cutoff: bool = False
    #: Overrides of the workspace's ranking settings.
    preferences: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "RunSettings":
        """Return the settings with these values by name; None means absent. Raises InvalidRunSetting."""
        stated = {name: value for name, value in given.items() if value is not None}
        parameters = {name: _parameter(name, stated.pop(name)) for name in _PARAMETERS if name in stated}
        unknown = stated.keys() - ranking_preferences()
        if unknown:
            raise InvalidRunSetting(
                f"{preview(min(unknown))} is not a setting of runs; there are:"
                f" {', '.join((*_PARAMETERS, *sorted(ranking_preferences())))}."
            )
        clean, wrong = clean_preferences(stated)
        if wrong:
            name = min(wrong)
            raise InvalidRunSetting(f"{name}: {wrong[name]}")
        return cls(**parameters, preferences=clean)

    def as_json(self) -> dict[str, Any]:
        """Return the settings by name; the inverse of `of`."""
        parameters = {name: getattr(self, name) for name in _PARAMETERS}
        return {**parameters, "mode": self.mode.value, **self.preferences}

    def apply_to(self, workspace: Workspace) -> Workspace:
        """Return a copy of the workspace with the run's settings, never to be saved."""
        return proposed_workspace(workspace, self.preferences)

    def query(self, topic: JudgedTopic, hits: int) -> SearchQuery:
        """Return the query for `hits` hits of `topic`."""
        return SearchQuery(
            text=topic.text,
            operators=True,
            mode=self.mode,
            k=hits,
            filters=filters_from_json(topic.filters),
            per_file_cap=self.per_file_cap,
            rerank=self.rerank,
            cutoff=self.cutoff,
        )


def _parameter(name: str, value: Any) -> Any:
    if name == "mode":
        try:
            return Mode(value)
        except InvalidQuery as error:
            raise InvalidRunSetting(f"mode: {error}") from error
    if name in ("rerank", "cutoff"):
        if not isinstance(value, bool):
            raise InvalidRunSetting(f"{name}: {preview(value)} is not true or false.")
        return value
    least = 1 if name == "k" else 0
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MAX_K:
        raise InvalidRunSetting(f"{name}: {preview(value)} is not a whole number from {least} to {MAX_K}.")
    return value
