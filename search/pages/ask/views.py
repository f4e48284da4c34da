"""Pages of the question form, answers, the passages that they cite, and conversations."""

import uuid
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from kebab.errors import NotFound, Problem
from kebab.identity.models import Workspace
from kebab.pages.page import ActionPage, HtmxHttpRequest, PostAction, WorkspacePage, apply_problem, list_page
from search.answers import Answer, answer_question
from search.answers.citation_check import check_citations
from search.answers.conversation import (
    answer_from_row,
    can_review_all,
    conversation_starts,
    conversation_turns,
    delete_answer,
    get_answer,
    visible_answers,
)
from search.api.answers.views import ASK
from search.pages.ask.form import QuestionInput, build_ask_form, follow_up
from search.pages.ask.presentation import (
    ShownAnswer,
    load_cited_passage,
    outcome_label,
    present_answer,
    present_citation,
)

_TAB: Final = "ask"


class AskPage(ActionPage):
    """The question form; a POST answers the question, which takes as long as the model generates."""

    need = ASK
    tab = _TAB

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the empty form, and the reader's conversations."""
        own = conversation_starts(workspace, self.access.reader, self.access.caller)
        earlier = list_page(self, request, own, ordering=("-created_at", "id"))
        return self._render_page(
            request, QuestionInput.from_form(request.GET), list=earlier, reviews=can_review_all(self.access)
        )

    def act(self, request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
        """Answer the question, and redirect to the answer. Raises InvalidQuery and other problems."""
        question_input = QuestionInput.from_form(request.POST)
        answer = answer_question(
            workspace, self.access.reader, question_input.build_request(workspace), asker=self.access.caller
        )
        if not visible_answers(self.access).filter(pk=answer.answer_id).exists():
            # A document behind the answer was deleted meanwhile; the answer is shown this once.
            return self._render_page(
                request, QuestionInput(), turns=[present_answer(self.access, answer, is_own=True)]
            )
        return redirect(_answer_address(workspace, question_input, answer))

    def render_problem(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """Return the form with the typed values and the problem."""
        if self.workspace is None:
            return super().render_problem(request, problem)
        return apply_problem(
            self._render_page(request, QuestionInput.from_form(request.POST or request.GET), problem=problem),
            problem,
        )

    def _render_page(
        self, request: HttpRequest, question_input: QuestionInput, **context: Any
    ) -> HttpResponse:
        return self.render(
            request, "search/ask.html", form=build_ask_form(self.access, question_input), **context
        )


def _answer_address(workspace: Workspace, question_input: QuestionInput, answer: Answer) -> str:
    """Return the address of an answer's page, or of the last turn of its conversation."""
    if not question_input.conversation_id:
        return reverse("answer", args=[workspace.slug, answer.answer_id]) + question_input.sources_query
    conversation = reverse("conversation", args=[workspace.slug, answer.conversation_id])
    return f"{conversation}{question_input.sources_query}#answer-{answer.answer_id}"


class AnswerPage(WorkspacePage):
    """A stored answer, and a form to continue the conversation."""

    need = ASK
    tab = _TAB

    def show(self, request: HtmxHttpRequest, workspace: Workspace, answer_id: uuid.UUID) -> HttpResponse:
        """Return the page, or only the answer for htmx. Raises NotFound."""
        row = get_answer(self.access, answer_id)
        is_own = row.creator == self.access.identity
        turn = present_answer(self.access, answer_from_row(row), is_own=is_own, is_opened=True)
        if request.htmx:
            return self.render(request, "search/answer.html", turn=turn)
        return self._render_page(request, turn)

    def _render_page(self, request: HttpRequest, turn: ShownAnswer) -> HttpResponse:
        question_input = follow_up(turn.answer.conversation_id, request.GET.getlist("source"))
        form = build_ask_form(self.access, question_input) if turn.is_own else None
        return self.render(request, "search/ask.html", form=form, turns=[turn])


class CitationPage(WorkspacePage):
    """The passage behind a marker, with its neighbours."""

    need = ASK
    tab = _TAB

    def show(
        self, request: HtmxHttpRequest, workspace: Workspace, answer_id: uuid.UUID, n: int
    ) -> HttpResponse:
        """Return the page, or only the passage for htmx. Raises NotFound."""
        answer: Answer = answer_from_row(get_answer(self.access, answer_id))
        cited = next((each for each in answer.citations if each.n == n), None)
        if cited is None:
            raise NotFound
        template = "search/answer_passage.html" if request.htmx else "search/answer_citation.html"
        shown = present_citation(workspace, answer, cited)
        return self.render(
            request, template, answer=answer, cited=shown, passage=load_cited_passage(self.access, cited)
        )


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
