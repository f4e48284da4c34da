"""The pages of answers that are kept: conversations, whether one still holds, everybody's, forgetting one."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect

from kebab.http.api.errors import NotFound
from kebab.pages.page import Act, WorkspacePage
from kebab.pages.pagination import list_page
from kebab.people.models import Workspace
from search.answers.citation_check import check_citations
from search.answers.history import answer_of, delete_answer, one_answer, reviews, turns_of, visible_answers
from search.api.answers.views import ASK
from search.pages.ask.form import ask_form, going_on
from search.pages.ask.labels import verdict_of
from search.pages.ask.presentation import shown_answer

_NEWEST_FIRST = ("-created_at", "id")


class ConversationPage(WorkspacePage):
    """The turns of one's own conversation, in the order in which they were asked, and a box to go on."""

    need = ASK
    tab = "ask"

    def show(self, request: HttpRequest, workspace: Workspace, conversation_id: uuid.UUID) -> HttpResponse:
        """Return the last turns, with the way to those before. Raises NotFound."""
        rows = turns_of(workspace, self.access.reader, self.access.caller, conversation_id)
        page = list_page(self, request, rows, ordering=_NEWEST_FIRST)
        if not page.rows:
            raise NotFound
        turns = [shown_answer(workspace, answer_of(row), is_own=True) for row in reversed(page.rows)]
        form = ask_form(self.access, going_on(conversation_id, request.GET.getlist("source")))
        return self.render(request, "search/ask.html", form=form, turns=turns, earlier=page)


class AnswersPage(WorkspacePage):
    """The answers that are kept: everybody's to who reviews them, else one's own."""

    need = ASK
    tab = "ask"

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the list, newest first."""
        page = list_page(self, request, visible_answers(self.access), ordering=_NEWEST_FIRST)
        rows = [(row, verdict_of(answer_of(row))) for row in page.rows]
        context = {"list": page, "rows": rows, "reviews": reviews(self.access)}
        return self.render(request, "search/answers.html", **context)


class AnswerCheckPage(WorkspacePage):
    """Whether an answer still holds: each of its citations with what has become of it."""

    need = ASK
    tab = "ask"

    def show(self, request: HttpRequest, workspace: Workspace, answer_id: uuid.UUID) -> HttpResponse:
        """Return the answer with its citations checked, or to htmx these alone. Raises NotFound."""
        row = one_answer(self.access, answer_id)
        answer, is_own = answer_of(row), row.creator == self.access.identity
        checked = check_citations(workspace, self.access.reader, answer.citations)
        turn = shown_answer(workspace, answer, is_own=is_own, checked=checked)
        if request.htmx:  # type: ignore[attr-defined]
            return self.render(request, "search/answer_citations.html", turn=turn)
        form = ask_form(self.access, going_on(answer.conversation_id, ())) if is_own else None
        return self.render(request, "search/ask.html", form=form, turns=[turn])


class DeleteAnswer(Act):
    """Forgets an answer; what was answered after it in the conversation stays."""

    need = ASK

    def act(self, request: HttpRequest, workspace: Workspace, answer_id: uuid.UUID) -> HttpResponseBase:
        """Delete it, and lead to where one asks. Raises NotFound."""
        delete_answer(self.access, answer_id)
        messages.success(request, "The answer was deleted.")
        return redirect("ask", workspace.slug)
