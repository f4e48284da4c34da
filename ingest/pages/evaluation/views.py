"""Pages of test queries: a workspace's topics and runs, and the forms that create them."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from ingest.pages.evaluation.measure_names import name_measure
from ingest.pages.evaluation.runs import mode_label
from ingest.services.evaluation import request_run
from kebab.errors import NotFound
from kebab.http.api.problems import problem_of
from kebab.identity.models import Workspace
from kebab.pages.page import ActionPage, PostAction, WorkspacePage, apply_problem, list_page
from kebab.uuids import parse_uuid
from search.api.evaluation.topics import EVALUATE
from search.evaluation.feedback import FEEDBACK_SET, pending_feedback, store_topics_from_feedback
from search.evaluation.judged import JudgedTopic, Qrel
from search.evaluation.runs import visible_runs
from search.evaluation.settings import RunSettings
from search.evaluation.topic_sets import (
    SetSummary,
    TopicChanges,
    delete_topic,
    get_topic,
    list_sets,
    missing_paths,
    query_topic_id,
    store_topics,
    visible_topics,
    with_judgements,
)
from search.models import Run, TopicOrigin
from search.models.document import MAX_PATH_CHARS
from search.models.evaluation import GOLDEN, MAX_RUN_NAME_CHARS, MAX_SET_CHARS
from search.pages.search.form import MODES
from search.retrieval.citation import split_uri
from search.retrieval.errors import SearchError
from search.retrieval.text.sanitize import strip_unstorable

_MAX_QUERY_CHARS = 2_000
_MOST_PLACES = 100


class TopicForm(forms.Form):
    """A test query with the places that answer it."""

    text = forms.CharField(label=gettext_lazy("Query"), max_length=_MAX_QUERY_CHARS)
    places = forms.CharField(
        label=gettext_lazy("Right results"),
        required=False,
        max_length=_MOST_PLACES * MAX_PATH_CHARS,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        help_text=gettext_lazy(
            "One document per line, such as guides/install.md, or lines of it: guides/install.md#L3-L9."
        ),
    )
    is_unanswerable = forms.BooleanField(
        label=gettext_lazy("Nothing in this workspace answers it"), required=False
    )
    topic_set = forms.CharField(
        label=gettext_lazy("Set"),
        max_length=MAX_SET_CHARS,
        initial=GOLDEN,
        help_text=gettext_lazy("The set “golden” is tested before changed search settings take effect."),
    )

    def clean_places(self) -> Sequence[str]:
        """Return the places without duplicates."""
        lines = [line.strip() for line in self.cleaned_data["places"].splitlines()]
        places = list(dict.fromkeys(line for line in lines if line))
        if len(places) > _MOST_PLACES:
            raise forms.ValidationError(_("List %(most)s results at most.") % {"most": _MOST_PLACES})
        return places

    def clean(self) -> dict[str, Any]:
        """Validate that there are places, or that the query is unanswerable. Raises ValidationError."""
        given = self.cleaned_data
        if "places" in given and not given["places"] and not given.get("is_unanswerable"):
            self.add_error("places", _("Name the right results, or check that nothing answers it."))
        return given

    def build_topic(self) -> JudgedTopic:
        """Build the topic; equal queries give the same topic id. Raises InvalidJudgedSet."""
        given = self.cleaned_data
        places = map(split_uri, given["places"])
        return JudgedTopic(
            topic_id=query_topic_id(given["text"]),
            text=given["text"],
            qrels=tuple(Qrel(path=path, fragment=fragment) for path, fragment in places),
            is_unanswerable=given["is_unanswerable"],
        )


class RunForm(forms.Form):
    """A new evaluation run."""

    topic_set = forms.ChoiceField(label=gettext_lazy("Set"))
    mode = forms.ChoiceField(label=gettext_lazy("Search by"), choices=list(MODES.items()))
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=MAX_RUN_NAME_CHARS,
        required=False,
        help_text=gettext_lazy("Optional: what is different this time."),
    )

    def __init__(self, *args: Any, sets: Sequence[SetSummary], **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["topic_set"].choices = [  # type: ignore[attr-defined]  # a ChoiceField
            (each.topic_set, f"{each.topic_set} ({each.topics})") for each in sets
        ]


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
            name, topic = form.cleaned_data["topic_set"], form.build_topic()
            missing = missing_paths(self.access, topic)
            if missing:
                form.add_error("places", _("There is no document %(path)s.") % {"path": missing[0]})
                return self._render_form(request, form, status=422)
            changes = store_topics(self.access, [topic], topic_set=name, origin=TopicOrigin.GOLDEN)
            messages.success(request, _("Test query added.") if changes.added else _("Test query updated."))
            return redirect(_address(workspace, name))
        except SearchError as error:
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


@PostAction.of(need=EVALUATE)
def delete_chosen_topic(page: PostAction, topic_id: uuid.UUID) -> HttpResponse:
    """Delete the topic; runs that used it keep their copy. Raises NotFound."""
    name = get_topic(page.access, topic_id).topic_set
    delete_topic(page.access, topic_id)
    messages.success(page.request, _("Test query deleted. Its results in earlier runs are kept."))
    return redirect(_address(page.access.workspace, name))


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
            self.access,
            topic_set=given["topic_set"],
            settings=RunSettings.of({"mode": given["mode"]}),
            name=given["name"],
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


_SHOWN = 100


class FeedbackPage(ActionPage):
    """Feedback on hits that isn't judged yet; one click turns it into judgements."""

    need = EVALUATE
    tab = "evaluation"

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the page."""
        pending = pending_feedback(self.access)
        context = {
            "pending": pending[:_SHOWN],
            "more": max(0, len(pending) - _SHOWN),
            "decided": sum(each.is_decided for each in pending),
            "set": FEEDBACK_SET,
        }
        return self.render(request, "ingest/feedback.html", **context)

    def act(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Store the majority's feedback as judgements, for the given query or all. Raises NotFound for an
        invalid key.
        """
        query_key = request.POST.get("query", "")
        key = parse_uuid(query_key)
        if query_key and key is None:
            raise NotFound
        messages.success(request, _result_message(store_topics_from_feedback(self.access, of_query=key)))
        return redirect("evaluation-feedback", workspace.slug)


def _result_message(changes: TopicChanges) -> str:
    judged = changes.added + changes.changed
    if not judged:
        return _("There was nothing new to accept.")
    return ngettext("%s test query saved.", "%s test queries saved.", judged) % judged
