"""Pages of test queries: a workspace's topics and runs, and the forms that create them."""

import uuid
from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from ingest.pages.evaluation.forms import RunForm, TopicForm
from ingest.pages.evaluation.measure_names import name_measure
from ingest.pages.evaluation.runs import mode_label
from ingest.services.evaluation import request_run
from kebab.http.api.problems import problem_of
from kebab.identity.models import Workspace
from kebab.pages.page import ActionPage, PostAction, WorkspacePage, apply_problem
from kebab.pages.pagination import list_page
from search.api.evaluation.topics import EVALUATE
from search.evaluation.runs import visible_runs
from search.evaluation.topic_sets import (
    delete_topic,
    get_topic,
    list_sets,
    missing_paths,
    store_topics,
    visible_topics,
    with_judgements,
)
from search.models import Run, TopicOrigin
from search.models.evaluation import GOLDEN
from search.retrieval.errors import SearchError
from search.retrieval.text.sanitize import strip_unstorable

_RUNS_SHOWN = 20
#: The measure by which runs are listed.
_QUALITY = "nDCG@10"


class EvaluationPage(WorkspacePage):
    """The topics of a set with their judgements, and the latest runs."""

    need = EVALUATE
    tab = "evaluation"

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the page."""
        sets = list_sets(self.access)
        chosen = strip_unstorable(request.GET.get("set", "")) or (sets[0].topic_set if sets else GOLDEN)
        topics = visible_topics(self.access, chosen)
        listed = list_page(self, request, topics, ordering=("topic_set", "topic_id"))
        judged = with_judgements(self.access, listed.rows)
        context = {
            "sets": sets,
            "chosen": chosen,
            "list": listed,
            "topics": list(zip(listed.rows, judged, strict=True)),
            "runs": [_run_row(run) for run in visible_runs(self.access)[:_RUNS_SHOWN]],
            "quality": name_measure(_QUALITY),
        }
        return self.render(request, "ingest/evaluation.html", **context)


class NewTopicPage(ActionPage):
    """The form that adds a test query."""

    need = EVALUATE
    tab = "evaluation"

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the form; the parameters `q` and `place`, as of a hit, prefill the query and its answer."""
        given = {name: request.GET.get(key, "")[:2_000] for name, key in (("text", "q"), ("places", "place"))}
        return self._render_form(request, TopicForm(initial=given))

    def act(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Store the topic; a topic with the same query is replaced."""
        form = TopicForm(request.POST)
        if not form.is_valid():
            return self._render_form(request, form, status=400)
        try:
            return self._store_topic(request, workspace, form)
        except SearchError as error:
            return self._render_error(request, form, error)

    def _store_topic(self, request: HttpRequest, workspace: Workspace, form: TopicForm) -> HttpResponse:
        name, topic = form.cleaned_data["topic_set"], form.build_topic()
        missing = missing_paths(self.access, topic)
        if missing:
            form.add_error("places", _("There is no document %(path)s.") % {"path": missing[0]})
            return self._render_form(request, form, status=422)
        changes = store_topics(self.access, [topic], topic_set=name, origin=TopicOrigin.GOLDEN)
        messages.success(request, _("Test query added.") if changes.added else _("Test query updated."))
        return redirect(_address(workspace, name))

    def _render_error(self, request: HttpRequest, form: TopicForm, error: SearchError) -> HttpResponse:
        problem = problem_of(error)
        form.add_error(None, str(error))
        return (
            apply_problem(self._render_form(request, form), problem)
            if problem
            else self._render_form(request, form, status=400)
        )

    def _render_form(self, request: HttpRequest, form: TopicForm, *, status: int = 200) -> HttpResponse:
        response = self.render(request, "ingest/new_topic.html", form=form)
        response.status_code = status
        return response


class DeleteTopicAct(PostAction):
    """Deletion of a test query."""

    need = EVALUATE

    def act(self, request: HttpRequest, workspace: Workspace, topic_id: uuid.UUID) -> HttpResponse:
        """Delete the topic; runs that used it keep their copy. Raises NotFound."""
        name = get_topic(self.access, topic_id).topic_set
        delete_topic(self.access, topic_id)
        messages.success(request, _("Test query deleted. Its results in earlier runs are kept."))
        return redirect(_address(workspace, name))


class NewRunPage(ActionPage):
    """The form that starts a run."""

    need = EVALUATE
    tab = "evaluation"

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the form; the parameter `set` preselects the set."""
        form = RunForm(sets=list_sets(self.access), initial={"topic_set": request.GET.get("set", GOLDEN)})
        return self.render(request, "ingest/new_run.html", form=form)

    def act(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Request the run, which a job executes. Raises Unprocessable if the set has become empty."""
        form = RunForm(request.POST, sets=list_sets(self.access))
        if not form.is_valid():
            response = self.render(request, "ingest/new_run.html", form=form)
            response.status_code = 400
            return response
        given = form.cleaned_data
        run = request_run(
            self.access, topic_set=given["topic_set"], settings=form.build_settings(), name=given["name"]
        )
        messages.success(request, _("The run was started."))
        return redirect("evaluation-run", workspace.slug, run.pk)


def _run_row(run: Run) -> Mapping[str, Any]:
    value, median = run.figures.get("measures", {}).get(_QUALITY), run.figures.get("p50_ms")
    return {
        "run": run,
        "mode": mode_label(run),
        "value": value,
        "quality": name_measure(_QUALITY).format_value(value),
        "median": "–" if median is None else f"{median:.0f} ms",
    }


def _address(workspace: Workspace, topic_set: str) -> str:
    return reverse("evaluation", args=[workspace.slug], query={"set": topic_set})
