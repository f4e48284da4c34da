"""The search page: whole, or what was found alone, for who is still typing; and its filters."""

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django_htmx.http import replace_url, reswap

from kebab.http.api.errors import Problem
from kebab.pages.page import WorkspacePage, told
from kebab.people.models import Workspace
from search.engine.facets import count_facets
from search.engine.search import search
from search.models import Door
from search.pages.search.filters import filters_in_use, moments, shown_filters
from search.pages.search.form import Asked
from search.pages.search.hits import shown_hits
from search.query_log.recorder import note_query
from search.retrieval.errors import InvalidQuery
from search.retrieval.types import Mode


class SearchingPage(WorkspacePage):
    """What pages of a search share: it is asked by the address, and refused beside the box."""

    tab = "search"

    def refusal(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """Return the search box again, with what was wrong."""
        if self.workspace is None:
            return super().refusal(request, problem)
        return told(self.answered(request, asked=Asked.in_address(request.GET), problem=problem), problem)

    def answered(self, request: Any, *, asked: Asked, **context: Any) -> HttpResponse:
        """Return the page, or to htmx what changes of it; the address is then that of the page."""
        context |= {"asked": asked}
        if "problem" not in context:
            context["in_use"] = filters_in_use(self.access.workspace, self.access.reader, asked)
        if not is_partial(request):
            return self.render(request, "search/search.html", **context)
        response = self.render(request, "search/typed.html", **context)
        return replace_url(response, search_address(self.access.workspace, asked))

    def counted(self, asked: Asked) -> dict[str, Any]:
        """Return the filters to choose from, or that they can't be counted now. Raises InvalidFilter."""
        workspace, reader, since = self.access.workspace, self.access.reader, moments()
        narrowed = asked.search_filters()
        try:
            facets = count_facets(workspace, asked.text, narrowed, reader=reader, moments=since.values())
        except InvalidQuery:  # whose words are counted; a search by meaning alone doesn't mind
            return {}
        if facets is None:
            return {"is_uncounted": True}
        shown = shown_filters(workspace, reader, asked, facets, since)
        return {"filters": shown, "is_relaxed": facets.is_relaxed}


class SearchPage(SearchingPage):
    """The search box, and the hits once something was asked."""

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the page. Raises SearchError, which `refusal` shows above the same form."""
        asked = Asked.in_address(request.GET)
        if asked.is_blank:
            return self.answered(request, asked=asked)
        # Who types has no list kept for each key: it is kept when more of it is asked for.
        caller = None if is_partial(request) else self.access.identity
        result = search(workspace, asked.query(), reader=self.access.reader, caller=caller)
        note_query(workspace, result, door=Door.PAGE, caller=self.access.identity)
        is_full = caller is None and len(result.hits) == int(asked.k)
        context: dict[str, Any] = {
            "result": result,
            "hits": shown_hits(self.access, asked, result.hits),
            "more": more_address(workspace, asked, "" if is_full else result.next_cursor),
            "meant": replace(asked, text=result.did_you_mean or "").address,
            "hybrid": replace(asked, mode=Mode.HYBRID).address,
        }
        if not is_partial(request):
            context |= self.counted(asked)
        return self.answered(request, asked=asked, **context)


class CountedFilters(SearchingPage):
    """The filters of a search with their counts, which are fetched once its hits are shown."""

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Return them, a part of the search page; who opens it as a page is sent there. Raises
        SearchError.
        """
        asked = Asked.in_address(request.GET)
        if request.headers.get("Sec-Fetch-Dest") == "document":
            return redirect(search_address(workspace, asked))
        counted = {} if asked.is_blank else self.counted(asked)
        return self.render(request, "search/filters.html", asked=asked, **counted)

    def refusal(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """Return no filters: what is wrong is told where the hits would stand."""
        if self.workspace is None:
            return super().refusal(request, problem)
        asked = Asked.in_address(request.GET)
        response = self.render(request, "search/filters.html", asked=asked)
        return told(reswap(response, "innerHTML"), problem)


def is_partial(request: Any) -> bool:
    """Return whether only a part of a page is asked for, which htmx will put into the one that is open."""
    return bool(request.htmx) and not request.htmx.history_restore_request


def search_address(workspace: Workspace, asked: Asked) -> str:
    """Return the address of the search page that shows what was asked."""
    page = reverse("search", args=[workspace.slug])
    return page if asked.is_blank else f"{page}?{asked.address}"


def more_address(workspace: Workspace, asked: Asked, cursor: str | None) -> str | None:
    """Return the address of the hits behind those shown, '' being no cursor yet; None: there are none."""
    if cursor is None:
        return None
    return f"{reverse('search-more', args=[workspace.slug])}?{urlencode({'cursor': cursor})}&{asked.address}"
