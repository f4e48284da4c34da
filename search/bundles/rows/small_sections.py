"""Rows of the small sections, which have one JSON object each."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Model, QuerySet

from kebab.identity.models import Group, Workspace
from search.bundles.format.sections import SECTIONS_BY_NAME, section_rows
from search.bundles.format.values import canonical_json, row_to_json
from search.models import Judgement, Run, RunTopic, Source, SourceReader, SourceVersion, Topic
from search.models.evaluation import RunState
from search.vectors.lifecycle import filled_spaces

# Independent of ids, so that an imported workspace exports its judgements in the same order.
_JUDGEMENT_ORDER = ("topic__topic_set", "topic__topic_id", "source__key", "version", "path", "fragment")
# Attributes in place of fields that may hold secrets.
_MASKED = {"config": "masked_config"}
_UNFINISHED = (RunState.QUEUED, RunState.RUNNING)
# Column and target section of each reference, by the name of its field.
_REFERENCES = {
    "source_number": ("source_id", "sources"),
    "group_number": ("group_id", "groups"),
    "version_number": ("version_id", "versions"),
    "topic_number": ("topic_id", "topics"),
    "run_number": ("run_id", "runs"),
}


@dataclass(slots=True)
class RowNumbers:
    """Row numbers in the bundle, by section and database key."""

    by_section: dict[str, dict[Any, int]] = field(default_factory=dict)

    def record(self, section: str, key: Any, number: int) -> None:
        """Record the number of a row."""
        self.by_section.setdefault(section, {})[key] = number

    def of(self, section: str, key: Any) -> int | None:
        """Return the number of a row; None for the key None."""
        return None if key is None else self.by_section[section][key]


def section_row(section: str, instance: Model, numbers: RowNumbers) -> dict[str, Any]:
    """Return the JSON of a row in a section."""
    values: dict[str, Any] = {}
    for name in SECTIONS_BY_NAME[section].fields:
        if name in _REFERENCES:
            column, target = _REFERENCES[name]
            values[name] = numbers.of(target, getattr(instance, column))
        else:
            values[name] = getattr(instance, _MASKED.get(name, name))
    return row_to_json(section_rows(section), values)


def write_small_sections(workspace: Workspace, add: Callable[[str, bytes], int]) -> RowNumbers:
    """Add the rows of all small sections with `add`, and return their numbers."""
    numbers = RowNumbers()
    for section, rows in _rows(workspace):
        for instance in rows:
            numbers.record(
                section, instance.pk, add(section, canonical_json(section_row(section, instance, numbers)))
            )
    return numbers


def _rows(workspace: Workspace) -> Iterable[tuple[str, Iterable[Any]]]:
    """Yield the rows in the order of `SMALL_SECTIONS`, so that referenced rows come first."""
    runs = Run.objects.in_workspace(workspace).exclude(state__in=_UNFINISHED)
    yield "workspace", [workspace]
    yield "groups", Group.objects.filter(workspace=workspace).order_by("name")
    yield "sources", Source.objects.in_workspace(workspace).order_by("key")
    yield "readers", _order_rows(SourceReader.objects.in_workspace(workspace), "source__key", "group__name")
    yield "versions", _order_rows(SourceVersion.objects.in_workspace(workspace), "source__key", "tag")
    yield "spaces", filled_spaces(workspace)
    yield "topics", Topic.objects.in_workspace(workspace).order_by("topic_set", "topic_id")
    judgements = _order_rows(Judgement.objects.in_workspace(workspace), *_JUDGEMENT_ORDER)
    yield "judgements", judgements.iterator(chunk_size=2_000)
    yield "runs", runs.order_by("created_at", "pk")
    # One query per run, because together they may be many.
    run_topics = RunTopic.objects.in_workspace(workspace)
    for run in runs.order_by("created_at", "pk").values_list("pk", flat=True):
        yield "run_topics", run_topics.filter(run=run).order_by("ordinal").iterator(chunk_size=500)


def _order_rows(rows: "QuerySet[Any]", *names: str) -> "QuerySet[Any]":
    return rows.order_by(*names, "pk")
