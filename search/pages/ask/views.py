"""The pages of asking: a question, its answer, and each passage that the answer cites."""

import uuid
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from kebab.http.api.errors import NotFound, Problem
from kebab.pages.page import ActingPage, WorkspacePage, told
from kebab.pages.pagination import list_page
from kebab.people.models import Workspace
from search.answers import Answer, answer_question
from search.answers.history import answer_of, conversations_of, one_answer, reviews, visible_answers
from search.api.answers.views import ASK
from search.pages.ask.form import Asking, ask_form, going_on
from search.pages.ask.passage import cited_passage
from search.pages.ask.presentation import ShownAnswer, shown_answer, shown_citation

_TAB: Final = "ask"


class AskPage(ActingPage):
    """The box for questions; what is posted is answered, which takes as long as a model writes."""

    need = ASK
    tab = _TAB

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the empty box, and the conversations that there were."""
        own = conversations_of(workspace, self.access.reader, self.access.caller)
        earlier = list_page(self, request, own, ordering=("-created_at", "id"))
        return self._page(request, Asking.in_form(request.GET), list=earlier, reviews=reviews(self.access))

    def act(self, request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
        """Answer, and lead to the answer. Raises InvalidQuery and others, which `refusal` shows."""
        asking = Asking.in_form(request.POST)
        answer = answer_question(
            workspace, self.access.reader, asking.request(workspace), asker=self.access.caller
        )
        if not visible_answers(self.access).filter(pk=answer.answer_id).exists():
            # A document that it was made from has gone meanwhile; it is shown this once.
            return self._page(request, Asking(), turns=[shown_answer(workspace, answer, is_own=True)])
        return redirect(_address(workspace, asking, answer))

    def refusal(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """Return the box again with what was typed, and what was wrong."""
        if self.workspace is None:
            return super().refusal(request, problem)
        return told(
            self._page(request, Asking.in_form(request.POST or request.GET), problem=problem), problem
        )

    def _page(self, request: HttpRequest, asking: Asking, **context: Any) -> HttpResponse:
        return self.render(request, "search/ask.html", form=ask_form(self.access, asking), **context)


def _address(workspace: Workspace, asking: Asking, answer: Answer) -> str:
    """Return where an answer is read: by itself, or as the last turn of its conversation."""
    if not asking.conversation_id:
        return reverse("answer", args=[workspace.slug, answer.answer_id]) + asking.kept_address
    conversation = reverse("conversation", args=[workspace.slug, answer.conversation_id])
    return f"{conversation}{asking.kept_address}#answer-{answer.answer_id}"


class AnswerPage(WorkspacePage):
    """An answer as it was given, and a box to go on."""

    need = ASK
    tab = _TAB

    def show(self, request: HttpRequest, workspace: Workspace, answer_id: uuid.UUID) -> HttpResponse:
        """Return the page, or to a script the answer alone. Raises NotFound."""
        row = one_answer(self.access, answer_id)
        turn = shown_answer(workspace, answer_of(row), is_own=row.creator == self.access.identity)
        if request.htmx:  # type: ignore[attr-defined]
            return self.render(request, "search/answer.html", turn=turn)
        return self._page(request, turn)

    def _page(self, request: HttpRequest, turn: ShownAnswer) -> HttpResponse:
        asking = going_on(turn.answer.conversation_id, request.GET.getlist("source"))
        form = ask_form(self.access, asking) if turn.is_own else None
        return self.render(request, "search/ask.html", form=form, turns=[turn])


class CitationPage(WorkspacePage):
    """The passage that a marker leads to, with what stands around it."""

    need = ASK
    tab = _TAB

    def show(self, request: HttpRequest, workspace: Workspace, answer_id: uuid.UUID, n: int) -> HttpResponse:
        """Return the page, or to htmx the passage alone. Raises NotFound."""
        answer: Answer = answer_of(one_answer(self.access, answer_id))
        cited = next((each for each in answer.citations if each.n == n), None)
        if cited is None:
            raise NotFound
        template = "search/answer_passage.html" if request.htmx else "search/answer_citation.html"  # type: ignore[attr-defined]
        shown = shown_citation(workspace, answer, cited)
        return self.render(
            request, template, answer=answer, cited=shown, passage=cited_passage(self.access, cited)
        )
