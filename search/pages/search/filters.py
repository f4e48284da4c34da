"""Filters as the search page shows them: those in use, and the values to choose from."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from django.conf.locale import LANG_INFO
from django.utils import timezone

from kebab.people.models import Workspace
from kebab.people.reader import Reader
from search.engine.facets import Facets, source_titles
from search.pages.search.form import Asked

_LABELS: Final = {
    "source": "Source",
    "media": "Kind",
    "lang": "Language",
    "tags_any": "Tag",
    "trust_min": "Trust",
    "version": "Version",
    "ingested_after": "Indexed since",
    "kind": "Passages",
    "code_lang": "Written in",
    "path_glob": "Path",
    "path_not_glob": "Not in",
    "doc_id": "Document",
}
_VALUES: Final = {
    ("media", "pdf"): "PDF",
    ("media", "email"): "E-mail",
    ("trust_min", "primary"): "Primary",
    ("trust_min", "secondary"): "Secondary or better",
    ("trust_min", "generated"): "Generated or better",
    ("trust_min", "unknown"): "Any",
    ("lang", "und"): "Unknown",
}
# Nothing is narrowed by it.
_LETS_ALL_THROUGH: Final = ("trust_min", "unknown")
_SINCE_DAYS: Final = {1: "Yesterday", 7: "7 days ago", 30: "30 days ago", 365: "A year ago"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownValue:
    """A value of a filter, and the query string that puts it in use, or no longer uses it."""

    label: str
    address: str
    is_chosen: bool
    #: None where it wasn't counted.
    documents: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFilter:
    """A filter with its values."""

    label: str
    values: tuple[ShownValue, ...]


def filters_in_use(workspace: Workspace, reader: Reader, asked: Asked) -> list[ShownValue]:
    """Return what narrows the search, each with the query string of the search without it."""
    named = [value for name, value in asked.filters if name == "source"]
    titles = source_titles(workspace, reader, named) if named else {}
    return [
        ShownValue(
            label=f"{_LABELS[name]}: {_label(name, value, titles)}",
            address=asked.without_filter(name, value).address,
            is_chosen=True,
        )
        for name, value in asked.filters
    ]


def moments() -> dict[str, datetime]:
    """Return the moments since which documents are counted, by their names: beginnings of days, UTC."""
    today = timezone.now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return {label: today - timedelta(days=days) for days, label in _SINCE_DAYS.items()}


def shown_filters(
    workspace: Workspace, reader: Reader, asked: Asked, facets: Facets, since: Mapping[str, datetime]
) -> list[ShownFilter]:
    """Return the filters that there is a choice of, with their counts."""
    keys = [each.value for each in facets.by_filter["source"]]
    labels = source_titles(workspace, reader, keys) | {at.isoformat(): label for label, at in since.items()}
    found = []
    for name, values in facets.by_filter.items():
        shown = tuple(
            ShownValue(
                label=_label(name, each.value, labels),
                address=_toggled(asked, name, each.value).address,
                is_chosen=(name, each.value) in asked.filters,
                documents=each.documents,
            )
            for each in values
            if (name, each.value) in asked.filters
            or (each.documents and (name, each.value) != _LETS_ALL_THROUGH)
        )
        if _is_choice(name, shown, facets.total):
            found.append(ShownFilter(label=_LABELS[name], values=shown))
    return found


def _toggled(asked: Asked, name: str, value: str) -> Asked:
    is_chosen = (name, value) in asked.filters
    return asked.without_filter(name, value) if is_chosen else asked.with_filter(name, value)


def _is_choice(name: str, values: tuple[ShownValue, ...], total: int) -> bool:
    """Return whether choosing would change anything: not where each value has all the documents there are."""
    if name in ("tags_any", "version"):
        return bool(values)
    return any(each.is_chosen or (each.documents or 0) < total for each in values)


def _label(name: str, value: str, labels: Mapping[str, str]) -> str:
    if name in ("source", "ingested_after") and value in labels:
        return labels[value]
    if name == "lang":
        return _VALUES.get((name, value)) or str(LANG_INFO.get(value, {}).get("name", value))
    if name == "ingested_after":
        return value[:10]
    return _VALUES.get((name, value)) or (value.capitalize() if name == "media" else value)
