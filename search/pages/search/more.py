"""Further hits of a search, votes on hits, and the quote that answers a question best."""

from dataclasses import replace
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django_htmx.http import reswap, retarget

from kebab.errors import Problem
from kebab.identity.caller import Need
from kebab.identity.models import Role, TokenScope, Workspace
from kebab.pages.page import HtmxHttpRequest, PostAction, WorkspacePage, apply_problem
from search.answers import quote_answer
from search.answers.prompt import MARKER
from search.api.answers.views import ASK
from search.engine.pages import fetch_next_page
from search.engine.search import search
from search.evaluation.feedback import record_feedback
from search.pages.ask.form import QuestionInput
from search.pages.ask.presentation import place_address
from search.pages.markdown.fragments import render_fragment
from search.pages.search.form import SearchInput
from search.pages.search.hits import present_hits
from search.pages.search.views import SearchingPage, count_found, is_partial, more_address, search_address
from search.retrieval.errors import InvalidQuery
from search.retrieval.types import SearchResult


class MoreHits(SearchingPage):
    """The next hits of a search: a page of its own, or a part that htmx puts in place of the link."""

    def show(self, request: HtmxHttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the next hits. Raises SearchError, StaleCursor among them."""
        search_input, cursor = SearchInput.from_parameters(request.GET), request.GET.get("cursor", "")
        pages = self._pages(workspace, search_input, cursor)
        further = pages if cursor else pages[1:]
        # Hits shown during typing have no cursor: the first page is searched and shown again.
        shown = [hit for page in (pages if is_partial(request) else further) for hit in page.hits]
        context: dict[str, Any] = {
            "result": pages[-1],
            "hits": present_hits(self.access, search_input, shown),
            "total": count_found(pages[-1], has_more=True),
            "added": sum(len(page.hits) for page in further),
            "more": more_address(workspace, search_input, pages[-1].next_cursor),
            "is_further": True,
            "cursor": cursor,
        }
        if not is_partial(request):
            return self.render_search(
                request, search_input=search_input, **context, **self.count_filters(search_input)
            )
        response = self.render(request, "search/appended.html", asked=search_input, **context)
        return response if cursor else reswap(retarget(response, ".results"), "innerHTML")

    def render_problem(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """Return the problem, with a link to the first hits."""
        if self.workspace is None or not is_partial(self.request):
            return super().render_problem(request, problem)
        search_input = SearchInput.from_parameters(request.GET)
        response = self.render(request, "search/appended.html", asked=search_input, problem=problem)
        return apply_problem(reswap(response, "outerHTML"), problem)

    def _pages(self, workspace: Workspace, search_input: SearchInput, cursor: str) -> list[SearchResult]:
        """Return the next page; without a cursor, as during typing, the first and the second page."""
        reader, caller = self.access.reader, self.access.identity
        if cursor:
            return [fetch_next_page(workspace, cursor, caller, reader=reader)]
        first = search(workspace, search_input.query(), reader=reader, caller=caller)
        following = first.next_cursor
        return [first, fetch_next_page(workspace, following, caller, reader=reader)] if following else [first]


class VoteForm(forms.Form):
    """A vote, whether a hit answers a query; `record_feedback` validates the fields."""

    query = forms.CharField(strip=False)
    source = forms.CharField(strip=False)
    version = forms.CharField(strip=False, required=False)
    citation = forms.CharField(strip=False)
    is_relevant = forms.TypedChoiceField(
        choices=(("yes", "yes"), ("no", "no")), coerce=lambda value: value == "yes"
    )
    #: The query string of the search that showed the hit, without the query text, and the hit's rank.
    asked = forms.CharField(strip=False, required=False)
    rank = forms.IntegerField(required=False, min_value=1)
    #: The cursor of the page that showed the hit, if it wasn't the first.
    cursor = forms.CharField(required=False, empty_value=None)


@PostAction.of(need=Need(role=Role.VIEWER, scope=TokenScope.SEARCH), tab="search")
def vote(page: PostAction) -> HttpResponse:
    """Store the vote, and redirect to the hits. Raises InvalidQuery, InvalidCitation, NotFound."""
    form = VoteForm(page.request.GET.dict() | page.request.POST.dict())
    if not form.is_valid():
        raise InvalidQuery(f"{', '.join(form.errors)}: missing or not understood; vote on a hit's own page.")
    given = form.cleaned_data
    names = ("query", "source", "version", "citation", "is_relevant")
    record_feedback(page.access, **{name: given[name] for name in names})
    if is_partial(page.request):
        return HttpResponse(status=204)
    messages.success(page.request, _("Thanks for your feedback"))
    search_input = replace(SearchInput.from_parameters(QueryDict(given["asked"])), text=given["query"])
    place = f"#result-{given['rank']}" if given["rank"] else ""
    workspace = page.access.workspace
    more = more_address(workspace, search_input, given["cursor"])
    return redirect((more or search_address(workspace, search_input)) + place)


@WorkspacePage.of(need=ASK, tab="search")
def quoted_answer(page: WorkspacePage) -> HttpResponse:
    """Return the quote that answers best, with its place: a part fetched once results are shown.

    Nothing if no passage answers. Raises InvalidQuery.
    """
    workspace, asked = page.access.workspace, SearchInput.from_parameters(page.request.GET)
    request_of_text = QuestionInput(question=asked.text).build_request(workspace)
    question = replace(request_of_text, filters=asked.search_filters())
    quoted = quote_answer(workspace, page.access.reader, question)
    if quoted is None:
        return HttpResponse("")
    text, citation = quoted
    return page.render(
        page.request,
        "search/quoted_answer.html",
        asked=asked,
        html=render_fragment(MARKER.sub("", text).strip()),
        citation=citation,
        address=place_address(workspace, citation),
    )
