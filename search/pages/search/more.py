"""What is behind the hits that a page shows, and what people say of hits."""

from dataclasses import replace
from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django_htmx.http import reswap, retarget

from kebab.http.api.errors import Problem
from kebab.http.api.permissions import Need
from kebab.pages.page import Act, told
from kebab.people.models import Role, Scope, Workspace
from search.engine.pages import next_page
from search.engine.search import search
from search.evaluation.feedback import give_feedback
from search.pages.search.form import Asked
from search.pages.search.hits import shown_hits
from search.pages.search.views import SearchingPage, is_partial, more_address, search_address
from search.retrieval.errors import InvalidQuery
from search.retrieval.types import SearchResult


class MoreHits(SearchingPage):
    """The next hits of a list: a page of their own, or to htmx what takes the place of the way to them."""

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Return them. Raises SearchError, among them StaleCursor."""
        asked, cursor = Asked.in_address(request.GET), request.GET.get("cursor", "")
        pages = self._pages(workspace, asked, cursor)
        further = pages if cursor else pages[1:]
        # What was shown while somebody typed was no list that can go on: it is shown again, as it stands now.
        shown = [hit for page in (pages if is_partial(request) else further) for hit in page.hits]
        context: dict[str, Any] = {
            "result": pages[-1],
            "hits": shown_hits(self.access, asked, shown),
            "added": sum(len(page.hits) for page in further),
            "more": more_address(workspace, asked, pages[-1].next_cursor),
            "is_further": True,
            "cursor": cursor,
        }
        if not is_partial(request):
            return self.answered(request, asked=asked, **context, **self.counted(asked))
        response = self.render(request, "search/appended.html", asked=asked, **context)
        return response if cursor else reswap(retarget(response, ".hits"), "innerHTML")

    def refusal(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """Return what was wrong, with the way to the first hits."""
        if self.workspace is None or not is_partial(request):
            return super().refusal(request, problem)
        asked = Asked.in_address(request.GET)
        response = self.render(request, "search/appended.html", asked=asked, problem=problem)
        return told(reswap(response, "outerHTML"), problem)

    def _pages(self, workspace: Workspace, asked: Asked, cursor: str) -> list[SearchResult]:
        """Return the next page; without a cursor, as while somebody types, the first, and the
        second if any.
        """
        reader, caller = self.access.reader, self.access.identity
        if cursor:
            return [next_page(workspace, cursor, caller, reader=reader)]
        first = search(workspace, asked.query(), reader=reader, caller=caller)
        following = first.next_cursor
        return [first, next_page(workspace, following, caller, reader=reader)] if following else [first]


class VoteForm(forms.Form):
    """Whether a hit answers a query; what the fields may be is for `give_feedback` to say."""

    query = forms.CharField(strip=False)
    source = forms.CharField(strip=False)
    version = forms.CharField(strip=False, required=False)
    citation = forms.CharField(strip=False)
    is_relevant = forms.TypedChoiceField(
        choices=(("yes", "yes"), ("no", "no")), coerce=lambda said: said == "yes"
    )
    #: The query string of the search that showed the hit, without the query, and its place there.
    asked = forms.CharField(strip=False, required=False)
    rank = forms.IntegerField(required=False, min_value=1)
    #: Of the page that showed it, where that wasn't the first.
    cursor = forms.CharField(required=False, empty_value=None)


class Vote(Act):
    """Says of a hit whether it answers the query."""

    need: ClassVar[Need] = Need(role=Role.VIEWER, scope=Scope.SEARCH)
    tab = "search"

    def act(self, request: Any, workspace: Workspace, **kwargs: Any) -> HttpResponse:
        """Keep it, and go back to the hits. Raises InvalidQuery, InvalidCitation, NotFound."""
        form = VoteForm(request.POST)
        if not form.is_valid():
            raise InvalidQuery(
                f"{', '.join(form.errors)}: missing or not understood; vote on a hit's own page."
            )
        given = form.cleaned_data
        names = ("query", "source", "version", "citation", "is_relevant")
        give_feedback(self.access, **{name: given[name] for name in names})
        if is_partial(request):
            return self.render(request, "search/voted.html", **given)
        said = "answers" if given["is_relevant"] else "doesn’t answer"
        messages.success(request, f"Noted: {given['citation']} {said} “{given['query'][:80]}”.")
        asked = replace(Asked.in_address(QueryDict(given["asked"])), text=given["query"])
        place = f"#hit-{given['rank']}" if given["rank"] else ""
        page = more_address(workspace, asked, given["cursor"]) or search_address(workspace, asked)
        return redirect(page + place)
