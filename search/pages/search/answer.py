"""The strip above the results of a question: the quote that answers it best."""

from dataclasses import replace

from django.http import HttpResponse

from kebab.identity.models import Workspace
from kebab.pages.page import HtmxHttpRequest, WorkspacePage
from search.answers import quote_answer
from search.answers.prompt import MARKER
from search.api.answers.views import ASK
from search.pages.ask.form import QuestionInput
from search.pages.ask.presentation import place_address
from search.pages.markdown.fragments import render_fragment
from search.pages.search.form import SearchInput


class QuotedAnswer(WorkspacePage):
    """A part of the search page, which is fetched once the results of a question are shown."""

    need = ASK
    tab = "search"

    def show(self, request: HtmxHttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the quote with its place; nothing if no passage answers. Raises InvalidQuery."""
        asked = SearchInput.from_parameters(request.GET)
        request_of_text = QuestionInput(question=asked.text).build_request(workspace)
        question = replace(request_of_text, filters=asked.search_filters())
        quoted = quote_answer(workspace, self.access.reader, question)
        if quoted is None:
            return HttpResponse("")
        text, citation = quoted
        return self.render(
            request,
            "search/quoted_answer.html",
            asked=asked,
            html=render_fragment(MARKER.sub("", text).strip()),
            citation=citation,
            address=place_address(workspace, citation),
        )
