"""Pages of the question form, answers, the passages that they cite, and conversations."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils.translation import gettext as _

from kebab.errors import NotFound, Problem
from kebab.identity.models import Workspace
from kebab.pages.page import ActionPage, PostAction, WorkspacePage, apply_problem, list_page
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
    load_passage,
    outcome_label,
    present_answer,
    present_citation,
)

_TAB: Final = "ask"
_NEWEST_FIRST: Final = ("-created_at", "id")


class AskPage(ActionPage):
    """The question form; a POST answers the question, which takes as long as the model generates."""

    need = ASK
    tab = _TAB

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the empty form, and the reader's conversations."""
        own = conversation_starts(workspace, self.access.reader, self.access.caller)
        earlier = list_page(self, request, own, ordering=_NEWEST_FIRST)
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


@WorkspacePage.of(need=ASK, tab=_TAB)
def answer_page(page: WorkspacePage, answer_id: uuid.UUID) -> HttpResponse:
    """Return a stored answer and a form to continue, only the answer for htmx, or a file. Raises NotFound."""
    row = get_answer(page.access, answer_id)
    is_own = row.creator == page.access.identity
    turn = present_answer(page.access, answer_from_row(row), is_own=is_own, is_opened=True)
    if page.request.htmx:
        return page.render(page.request, "search/answer.html", turn=turn)
    if page.request.GET.get("format") == "md":
        return _export([turn])
    return _render_turn(page, turn, page.request.GET.getlist("source"))


@WorkspacePage.of(need=ASK, tab=_TAB)
def citation_page(page: WorkspacePage, answer_id: uuid.UUID, n: int) -> HttpResponse:
    """Return the passage behind a marker with its neighbours, or only it for htmx. Raises NotFound."""
    answer = answer_from_row(get_answer(page.access, answer_id))
    numbers = [number for number, each in enumerate(answer.citations, start=1) if each.n == n]
    if not numbers:
        raise NotFound
    template = "search/answer_passage.html" if page.request.htmx else "search/answer_citation.html"
    shown = present_citation(page.access.workspace, answer, numbers[0])
    passage = load_passage(page.access, shown.found.chunk_id, shown.found.quote)
    return page.render(page.request, template, answer=answer, cited=shown, passage=passage)


@WorkspacePage.of(need=ASK, tab=_TAB)
def conversation_page(page: WorkspacePage, conversation_id: uuid.UUID) -> HttpResponse:
    """Return the last turns of the reader's own conversation, oldest first, with a link to earlier ones and a
    form to continue it. Raises NotFound.
    """
    access = page.access
    rows = conversation_turns(access.workspace, access.reader, access.caller, conversation_id)
    listed = list_page(page, page.request, rows, ordering=_NEWEST_FIRST)
    if not listed.rows:
        raise NotFound
    turns = [
        present_answer(access, answer_from_row(row), is_own=True, is_opened=row is listed.rows[0])
        for row in reversed(listed.rows)
    ]
    if page.request.GET.get("format") == "md":
        return _export(turns)
    form = build_ask_form(access, follow_up(conversation_id, page.request.GET.getlist("source")))
    return page.render(page.request, "search/ask.html", form=form, turns=turns, earlier=listed)


@WorkspacePage.of(need=ASK, tab=_TAB)
def answers_page(page: WorkspacePage) -> HttpResponse:
    """Return the stored answers, newest first: everybody's for reviewers, else the reader's own."""
    listed = list_page(page, page.request, visible_answers(page.access), ordering=_NEWEST_FIRST)
    rows = [(row, outcome_label(answer_from_row(row))) for row in listed.rows]
    context = {"list": listed, "rows": rows, "reviews": can_review_all(page.access)}
    return page.render(page.request, "search/answers.html", **context)


@WorkspacePage.of(need=ASK, tab=_TAB)
def answer_check_page(page: WorkspacePage, answer_id: uuid.UUID) -> HttpResponse:
    """Return the answer with the present state of each citation, or these only for htmx. Raises NotFound."""
    row = get_answer(page.access, answer_id)
    answer, is_own = answer_from_row(row), row.creator == page.access.identity
    checked = check_citations(page.access.workspace, page.access.reader, answer.citations)
    turn = present_answer(page.access, answer, is_own=is_own, checked=checked)
    if page.request.htmx:
        return page.render(page.request, "search/answer_citations.html", turn=turn)
    return _render_turn(page, turn, ())


def _export(turns: Sequence[Mapping[str, Any]]) -> HttpResponse:
    """Return the turns as a Markdown file, each with its question as a heading."""
    text = "\n\n".join(f"## {turn['text_to_copy']}" for turn in turns)
    headers = {"Content-Disposition": 'attachment; filename="answers.md"'}
    return HttpResponse(f"{text}\n", content_type="text/markdown; charset=utf-8", headers=headers)


def _render_turn(page: WorkspacePage, turn: Mapping[str, Any], sources: Sequence[str]) -> HttpResponse:
    """Render the page of one answer, with a form to continue for the person who asked."""
    question_input = follow_up(turn["answer"].conversation_id, sources)
    form = build_ask_form(page.access, question_input) if turn["is_own"] else None
    return page.render(page.request, "search/ask.html", form=form, turns=[turn])


@PostAction.of(need=ASK)
def delete_kept_answer(page: PostAction, answer_id: uuid.UUID) -> HttpResponseBase:
    """Delete the answer, and redirect to the question form. Raises NotFound."""
    delete_answer(page.access, answer_id)
    return page.finish(_("Answer deleted"), "ask")


_WORKSPACE: Final = "w/<str:slug>"
_ANSWER: Final = f"{_WORKSPACE}/answers/<uuid:answer_id>"

urlpatterns = [
    path(f"{_WORKSPACE}/ask", AskPage.as_view(), name="ask"),
    path(_ANSWER, answer_page.as_view(), name="answer"),
    path(f"{_ANSWER}/citations/<int:n>", citation_page.as_view(), name="answer-citation"),
    path(f"{_ANSWER}/check", answer_check_page.as_view(), name="answer-check"),
    path(f"{_ANSWER}/delete", delete_kept_answer.as_view(), name="answer-delete"),
    path(f"{_WORKSPACE}/answers", answers_page.as_view(), name="answers"),
    path(
        f"{_WORKSPACE}/conversations/<uuid:conversation_id>", conversation_page.as_view(), name="conversation"
    ),
]
