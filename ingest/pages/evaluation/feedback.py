"""The page on which what people say of hits becomes judgements."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from kebab.http.api.errors import NotFound
from kebab.pages.page import ActingPage
from kebab.people.models import Workspace
from kebab.uuids import as_uuid
from search.api.evaluation.topics import EVALUATE
from search.evaluation.feedback import FEEDBACK_SET, pending_feedback, topics_from_feedback
from search.evaluation.topic_sets import Kept

_SHOWN = 100


class FeedbackPage(ActingPage):
    """What was said of hits and isn't judged so yet; one click makes judgements of it."""

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
        """Judge as most said: the query that is named, or all. Raises NotFound for no key of a query."""
        named = request.POST.get("query", "")
        key = as_uuid(named)
        if named and key is None:
            raise NotFound
        messages.success(request, _told(topics_from_feedback(self.access, of_query=key)))
        return redirect("evaluation-feedback", workspace.slug)


def _told(kept: Kept) -> str:
    judged = kept.added + kept.changed
    if not judged:
        return "There was nothing new to judge."
    return f"{judged} {'query is' if judged == 1 else 'queries are'} judged in the set “{FEEDBACK_SET}”."
