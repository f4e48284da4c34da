"""The page on which feedback on results becomes test queries."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kebab.errors import NotFound
from kebab.identity.models import Workspace
from kebab.pages.page import ActionPage
from kebab.uuids import parse_uuid
from search.api.evaluation.topics import EVALUATE
from search.evaluation.feedback import FEEDBACK_SET, pending_feedback, store_topics_from_feedback
from search.evaluation.topic_sets import TopicChanges

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
