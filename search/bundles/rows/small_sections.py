"""The rows of the sections that are read in one go, as a bundle holds them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Model, QuerySet

from kebab.people.models import Group, Workspace
from search.bundles.format.sections import SECTIONS_BY_NAME
from search.bundles.format.values import packed_json, said
from search.models import Judgement, Run, RunTopic, Source, SourceReader, SourceVersion, Topic
from search.models.evaluation import RunState
from search.vectors.lifecycle import filled_spaces

# As they come again from an import, whose ids are others.
_JUDGED = ("topic__topic_set", "topic__topic_id", "source__key", "version", "path", "fragment")
_UNFINISHED = (RunState.QUEUED, RunState.RUNNING)
# What a field of a row names, by the section of that row.
_REFERENCES = {
    "source_number": ("source_id", "sources"),
    "group_number": ("group_id", "groups"),
    "version_number": ("version_id", "versions"),
    "topic_number": ("topic_id", "topics"),
    "run_number": ("run_id", "runs"),
}


@dataclass(slots=True)
class Numbers:
    """By section, the numbers that rows have in the bundle, by what the database knows them by."""

    by_section: dict[str, dict[Any, int]] = field(default_factory=dict)

    def note(self, section: str, key: Any, number: int) -> None:
        """Keep the number of a row."""
        self.by_section.setdefault(section, {})[key] = number

    def of(self, section: str, key: Any) -> int | None:
        """Return the number of a row, None for none."""
        return None if key is None else self.by_section[section][key]


def row_of(section: str, instance: Model, numbers: Numbers) -> dict[str, Any]:
    """Return what the section says of a row."""
    values: dict[str, Any] = {}
    for name in SECTIONS_BY_NAME[section].fields:
        if name in _REFERENCES:
            column, target = _REFERENCES[name]
            values[name] = numbers.of(target, getattr(instance, column))
        else:
            values[name] = getattr(instance, name)
    return said(SECTIONS_BY_NAME[section].fields, values)


def write_small_sections(
    workspace: Workspace, add: Callable[[str, bytes], int], on_row: Callable[[], None]
) -> Numbers:
    """Add the rows of all small sections by `add`, and give their numbers."""
    numbers = Numbers()
    for section, rows in _rows(workspace):
        for instance in rows:
            numbers.note(section, instance.pk, add(section, packed_json(row_of(section, instance, numbers))))
            on_row()
    return numbers


def _rows(workspace: Workspace) -> Iterable[tuple[str, Iterable[Any]]]:
    """In the order of `SMALL_SECTIONS`: what is named comes before what names it."""
    runs = Run.objects.in_workspace(workspace).exclude(state__in=_UNFINISHED)
    yield "workspace", [workspace]
    yield "groups", Group.objects.filter(workspace=workspace).order_by("name")
    yield "sources", Source.objects.in_workspace(workspace).order_by("key")
    yield "readers", _ordered(SourceReader.objects.in_workspace(workspace), "source__key", "group__name")
    yield "versions", _ordered(SourceVersion.objects.in_workspace(workspace), "source__key", "tag")
    yield "spaces", filled_spaces(workspace)
    yield "topics", Topic.objects.in_workspace(workspace).order_by("topic_set", "topic_id")
    judged = _ordered(Judgement.objects.in_workspace(workspace), *_JUDGED)
    yield "judgements", judged.iterator(chunk_size=2_000)
    yield "runs", runs.order_by("created_at", "pk")
    # Of each run by itself: together they may be many.
    asked = RunTopic.objects.in_workspace(workspace)
    for run in runs.order_by("created_at", "pk").values_list("pk", flat=True):
        yield "run_topics", asked.filter(run=run).order_by("ordinal").iterator(chunk_size=500)


def _ordered(rows: "QuerySet[Any]", *names: str) -> "QuerySet[Any]":
    return rows.order_by(*names, "pk")
