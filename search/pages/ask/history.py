"""Pages of stored answers: conversations, the list, the check of citations, and deletion."""

import uuid

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from kebab.errors import NotFound
from kebab.identity.models import Workspace
from kebab.pages.page import HtmxHttpRequest, PostAction, WorkspacePage, list_page
from search.answers.citation_check import check_citations
from search.answers.conversation import (
    answer_from_row,
    can_review_all,
    conversation_turns,
    delete_answer,
    get_answer,
    visible_answers,
)
from search.api.answers.views import ASK
from search.pages.ask.form import build_ask_form, follow_up
from search.pages.ask.labels import outcome_label
from search.pages.ask.presentation import present_answer

_NEWEST_FIRST = ("-created_at", "id")


class ConversationPage(WorkspacePage):
    """The turns of the reader's own conversation, oldest first, and a form to continue it."""

    need = ASK
    tab = "ask"

    def show(self, request: HttpRequest, workspace: Workspace, conversation_id: uuid.UUID) -> HttpResponse:
        """Return the last turns, with a link to earlier ones. Raises NotFound."""
        rows = conversation_turns(workspace, self.access.reader, self.access.caller, conversation_id)
        page = list_page(self, request, rows, ordering=_NEWEST_FIRST)
        if not page.rows:
            raise NotFound
        last = page.rows[0]
        turns = [
            present_answer(self.access, answer_from_row(row), is_own=True, is_opened=row is last)
            for row in reversed(page.rows)
        ]
        form = build_ask_form(self.access, follow_up(conversation_id, request.GET.getlist("source")))
        return self.render(request, "search/ask.html", form=form, turns=turns, earlier=page)


class AnswersPage(WorkspacePage):
    """The stored answers: everybody's for reviewers, else the reader's own."""

    need = ASK
    tab = "ask"

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the list, newest first."""
        page = list_page(self, request, visible_answers(self.access), ordering=_NEWEST_FIRST)
        rows = [(row, outcome_label(answer_from_row(row))) for row in page.rows]
        context = {"list": page, "rows": rows, "reviews": can_review_all(self.access)}
        return self.render(request, "search/answers.html", **context)


class AnswerCheckPage(WorkspacePage):
    """The check of an answer: each citation with its present state."""

    need = ASK
    tab = "ask"

    def show(self, request: HtmxHttpRequest, workspace: Workspace, answer_id: uuid.UUID) -> HttpResponse:
        """Return the answer with checked citations, or only the citations for htmx. Raises NotFound."""
        row = get_answer(self.access, answer_id)
        answer, is_own = answer_from_row(row), row.creator == self.access.identity
        checked = check_citations(workspace, self.access.reader, answer.citations)
        turn = present_answer(self.access, answer, is_own=is_own, checked=checked)
        if request.htmx:
            return self.render(request, "search/answer_citations.html", turn=turn)
        form = build_ask_form(self.access, follow_up(answer.conversation_id, ())) if is_own else None
        return self.render(request, "search/ask.html", form=form, turns=[turn])


@PostAction.of(need=ASK)
def delete_kept_answer(page: PostAction, answer_id: uuid.UUID) -> HttpResponseBase:
    """Delete the answer, and redirect to the question form. Raises NotFound."""
    delete_answer(page.access, answer_id)
    return page.finish(_("Answer deleted"), "ask")
