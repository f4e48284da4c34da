"""Pages of a run: its measures, its queries, and the comparison with another run."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from ingest.pages.evaluation.measure_names import MeasureName, name_measure
from ingest.services.evaluation import cancel_and_delete_run, request_repetition
from kebab.errors import NotFound
from kebab.identity.models import Workspace
from kebab.pages.page import HtmxHttpRequest, PostAction, WorkspacePage, list_page
from kebab.pages.plots import Axes, Plot, Point, format_number, signed_bar_plot
from kebab.uuids import parse_uuid
from search.api.evaluation.topics import EVALUATE
from search.evaluation.comparison import DRAW, MeasureComparison
from search.evaluation.metrics import DEFAULT_MEASURES, LOWER_IS_BETTER
from search.evaluation.runs import compare_runs, get_run, topic_texts, visible_runs
from search.models import Run, RunState, RunTopic
from search.pages.search.form import MODES
from search.retrieval.types import Mode

_COLUMNS: Final = 3
_BASELINES: Final = 50
#: The most queries in the plot, and in each list of a comparison: those that differ most.
_MOST_COMPARED: Final = 60
_MOST_LISTED: Final = 10


class RunPage(WorkspacePage):
    """A run's figures, its queries, and the comparison with the run in `baseline`."""

    need = EVALUATE
    tab = "evaluation"

    def show(self, request: HtmxHttpRequest, workspace: Workspace, run_id: uuid.UUID) -> HttpResponse:
        """Return the page, or the run's progress for htmx. Raises NotFound, InvalidComparison."""
        run = get_run(self.access, run_id)
        topics = RunTopic.objects.in_workspace(workspace).filter(run=run)
        progress = {
            "run": run,
            "asked": topics.filter(ranking__isnull=False).count(),
            "topics": topics.count(),
        }
        if request.htmx:
            return self.render(request, "ingest/run_standing.html", **progress)
        return self.render(
            request, "ingest/run.html", **progress, **self._build_context(request, run, topics)
        )

    def _build_context(
        self, request: HttpRequest, run: Run, topics: "QuerySet[RunTopic]"
    ) -> Mapping[str, Any]:
        listed = list_page(self, request, topics, ordering=("ordinal",))
        columns = [name for name in run.measures if name in run.figures.get("measures", {})][:_COLUMNS]
        return {
            "mode": mode_label(run),
            "measures": _means(run),
            "columns": [name_measure(name) for name in columns],
            "list": listed,
            "rows": [_row(each, columns) for each in listed.rows],
            "baselines": self._baselines(run),
            "beside": self._compare_with_baseline(request, run),
        }

    def _baselines(self, run: Run) -> "Sequence[tuple[Run, str | Promise]]":
        runs = visible_runs(self.access).filter(topic_set=run.topic_set, state=RunState.SUCCEEDED)
        newest = runs.exclude(pk=run.pk).order_by("-created_at", "id")[:_BASELINES]
        return [(each, mode_label(each)) for each in newest]

    def _compare_with_baseline(self, request: HttpRequest, run: Run) -> Mapping[str, Any] | None:
        baseline_key = request.GET.get("baseline")
        if not baseline_key:
            return None
        baseline_id = parse_uuid(baseline_key)
        if baseline_id is None:
            raise NotFound
        return _compare(run, get_run(self.access, baseline_id), request.GET.get("measure", ""))


@PostAction.of(need=EVALUATE)
def repeat_run(page: PostAction, run_id: uuid.UUID) -> HttpResponse:
    """Start a run with the same queries, judgements and settings. Raises NotFound."""
    new_run = request_repetition(page.access, get_run(page.access, run_id))
    return page.finish(_("The run was started again."), "evaluation-run", new_run.pk)


@PostAction.of(need=EVALUATE)
def delete_run(page: PostAction, run_id: uuid.UUID) -> HttpResponse:
    """Delete the run with its results; cancel it if it hasn't finished. Raises NotFound."""
    cancel_and_delete_run(page.access, get_run(page.access, run_id))
    return page.finish(_("The run was deleted."), "evaluation")


def mode_label(run: Run) -> str:
    """Return what the run searched by."""
    mode: str = run.settings.get("mode", Mode.HYBRID)
    return str(MODES.get(mode, mode))


def _means(run: Run) -> Sequence[tuple[MeasureName, str, float | None]]:
    """Return the measures with their means, as text and as numbers."""
    values: Mapping[str, float | None] = run.figures.get("measures", {})
    names = [name_measure(name) for name in dict.fromkeys((*run.measures, *values)) if name in values]
    return [(each, each.format_value(values[each.name]), values[each.name]) for each in names]


def _row(topic: RunTopic, columns: Sequence[str]) -> Mapping[str, Any]:
    best = topic.ranking[0] if topic.ranking else None
    return {
        "topic": topic,
        "values": [name_measure(name).format_value(topic.measures.get(name)) for name in columns],
        "best": None if best is None else best[2],
        "wanted": [each[2] for each in topic.judgements if each[4] > 0][:3],
    }


def _compare(run: Run, baseline: Run, measure: str) -> Mapping[str, Any]:
    """Return the comparison of a run with a baseline, for the template `beside.html`."""
    comparison = compare_runs(baseline, run)
    measures = {name: _compare_measure(name, found) for name, found in comparison.measures.items()}
    chosen = measures[_choose_measure(list(measures), measure)]
    name: MeasureName = chosen["name"]
    changes = _changes(chosen["found"], topic_texts(run), lower_is_better=name.name in LOWER_IS_BETTER)
    return {
        "baseline": baseline,
        "chosen": chosen,
        "plot": _plot(name, changes) if changes else None,
        "losses": _format_changes(name, [each for each in changes if each.gain < 0]),
        "wins": _format_changes(name, [each for each in reversed(changes) if each.gain > 0]),
        "measures": list(measures.values()),
        "left_out": len(comparison.only_first) + len(comparison.only_second) + len(comparison.unlike),
    }


def _compare_measure(name: str, found: MeasureComparison) -> Mapping[str, Any]:
    measure = name_measure(name)
    first, second = map(measure.format_value, (found.first, found.second))
    return {"name": measure, "found": found, "first": first, "second": second}


def _choose_measure(names: Sequence[str], measure: str) -> str:
    if measure in names:
        return measure
    return next((name for name in DEFAULT_MEASURES if name in names), names[0])


class _Change(NamedTuple):
    text: str
    difference: float
    #: Positive if better.
    gain: float


def _changes(
    found: MeasureComparison, texts: Mapping[str, str], *, lower_is_better: bool
) -> Sequence[_Change]:
    """Return the queries whose value differs, the largest loss first."""
    sign = -1 if lower_is_better else 1
    changes = [
        _Change(texts[topic], difference, sign * difference)
        for topic, difference in found.per_topic.items()
        if abs(difference) > DRAW
    ]
    return sorted(changes, key=lambda each: each.gain)


def _format_changes(measure: MeasureName, changes: Sequence[_Change]) -> Sequence[tuple[str, str]]:
    return [
        (each.text, measure.format_value(each.difference, is_signed=True)) for each in changes[:_MOST_LISTED]
    ]


def _format_signed(value: float) -> str:
    return f"{'+' if value > 0 else ''}{format_number(float(f'{value:.3g}'))}"


def _plot(measure: MeasureName, changes: Sequence[_Change]) -> Plot:
    """Return the plot of gains, the largest loss first; above the limit the smallest changes are omitted."""
    most = sorted(changes, key=lambda each: -abs(each.gain))[:_MOST_COMPARED]
    falls = measure.name in LOWER_IS_BETTER
    axes = Axes(
        name=_("%(measure)s: change by query") % {"measure": measure.label},
        series=(_("decrease") if falls else _("increase"),),
        across=_("Query"),
        format_value=_format_signed,
    )
    shown = sorted(most, key=lambda each: each.gain)
    return signed_bar_plot(axes, [Point(label=each.text[:80], values=(each.gain,)) for each in shown])
