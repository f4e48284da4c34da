"""What is behind the hits that a page shows, and what people say of hits."""

from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django_htmx.http import reswap

from kebab.api.errors import Problem
from kebab.api.permissions import Need
from kebab.pages.page import Act, told
from kebab.people.models import Role, Scope, Workspace
from search.engine import search
from search.evaluation.feedback import give_feedback
from search.pages.asked import Asked
from search.pages.hits import shown_hits
from search.pages.searching import SearchingPage, is_partial, more_address, search_address
from search.paging import next_page
from search.retrieval.errors import InvalidQuery
from search.retrieval.types import SearchResult


class MoreHits(SearchingPage):
    """The next hits of a list: a page of their own, or to htmx what takes the place of the way to them."""

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Give them. Raises SearchError, among them StaleCursor."""
        asked = Asked.in_address(request.GET)
        result = self._next(workspace, asked, request.GET.get("cursor", ""))
        context: dict[str, Any] = {
            "result": result,
            "hits": () if result is None else shown_hits(workspace, asked, result.hits),
            "more": None if result is None else more_address(workspace, asked, result.next_cursor),
            "is_further": True,
        }
        if is_partial(request):
            return self.render(request, "search/appended.html", asked=asked, **context)
        return self.answered(request, asked=asked, **context)

    def refusal(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """Give what was wrong, with the way to the first hits."""
        if self.workspace is None or not is_partial(request):
            return super().refusal(request, problem)
        asked = Asked.in_address(request.GET)
        response = self.render(request, "search/appended.html", asked=asked, problem=problem)
        return told(reswap(response, "outerHTML"), problem)

    def _next(self, workspace: Workspace, asked: Asked, cursor: str) -> SearchResult | None:
        """Give the next page; without a cursor, as while somebody types, the second. None: there is none."""
        reader, caller = self.access.reader, self.access.identity
        if not cursor:
            cursor = search(workspace, asked.query(), reader=reader, caller=caller).next_cursor or ""
        return next_page(workspace, cursor, caller, reader=reader) if cursor else None


class VoteForm(forms.Form):
    """Whether a hit answers a query; what the fields may be is for `give_feedback` to say."""

    query = forms.CharField(strip=False)
    source = forms.CharField(strip=False)
    version = forms.CharField(strip=False, required=False)
    citation = forms.CharField(strip=False)
    is_relevant = forms.TypedChoiceField(
        choices=(("yes", "yes"), ("no", "no")), coerce=lambda said: said == "yes"
    )
    #: The query string of the search that showed the hit, and its place there.
    asked = forms.CharField(strip=False, required=False)
    rank = forms.IntegerField(required=False, min_value=1)


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
        asked = Asked.in_address(QueryDict(given["asked"]))
        place = f"#hit-{given['rank']}" if given["rank"] else ""
        return redirect(search_address(workspace, asked) + place)
