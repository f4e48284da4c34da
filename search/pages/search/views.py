"""Search page views: the full page, the htmx part for search-as-you-type, and the filters."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.gzip import gzip_page
from django_htmx.http import replace_url, reswap

from kebab.errors import Problem
from kebab.identity.models import Workspace
from kebab.pages.page import HtmxHttpRequest, WorkspacePage, apply_problem
from search.engine.facets import count_facets
from search.engine.search import search
from search.models import Door
from search.pages.search.filters import filters_in_use, moments, present_filters
from search.pages.search.form import SearchInput
from search.pages.search.hits import present_hits
from search.pages.search.start import opened_ids, start_lists
from search.query_log.recorder import record_query
from search.retrieval.errors import InvalidQuery
from search.retrieval.fusion.legs import PRIMARY_UNREACHABLE
from search.retrieval.types import Mode, SearchResult


# Compressed, although they repeat the query: their secret, the token of forms, is masked anew in each answer,
# requests from other sites carry no session, and Django adds random bytes.
@method_decorator(gzip_page, name="dispatch")
class SearchingPage(WorkspacePage):
    """Base of the search pages: parameters come from the address, problems are shown at the search box."""

    tab = "search"

    def render_problem(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """Return the search box again, with the problem."""
        if self.workspace is None:
            return super().render_problem(request, problem)
        return apply_problem(
            self.render_search(
                request, search_input=SearchInput.from_parameters(request.GET), problem=problem
            ),
            problem,
        )

    def render_search(self, request: Any, *, search_input: SearchInput, **context: Any) -> HttpResponse:
        """Return the page, or for htmx the changed part of it with the address of the page."""
        context |= {"asked": search_input}
        if "problem" not in context:
            context["in_use"] = filters_in_use(self.access.workspace, self.access.reader, search_input)
        if not is_partial(self.request):
            return self.render(request, "search/search.html", **context)
        response = self.render(request, "search/typed.html", **context)
        return replace_url(response, search_address(self.access.workspace, search_input))

    def count_filters(self, search_input: SearchInput) -> dict[str, Any]:
        """Return the context of the filters to choose from, or a flag that they can't be counted now.

        Raises InvalidFilter, InvalidQuery.
        """
        workspace, reader, since = self.access.workspace, self.access.reader, moments()
        query = search_input.query()
        try:
            facets = count_facets(workspace, query, reader=reader, moments=since.values())
        except InvalidQuery:  # only the lexical counts need valid words; a vector search works without
            return {}
        if facets is None:
            return {"is_uncounted": True}
        shown = present_filters(workspace, reader, search_input, facets, since)
        types = [value for each in shown if each["name"] == "media" for value in each["values"]]
        filters = [each for each in shown if each["name"] != "media"]
        return {"filters": filters, "types": types, "may_show_more": facets.relation == "gte"}


class SearchPage(SearchingPage):
    """The search box, and the hits of a query."""

    def show(self, request: HtmxHttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the page. Raises SearchError, which `render_problem` shows above the same form."""
        search_input = SearchInput.from_parameters(request.GET)
        if search_input.is_blank:
            return self.render_search(request, search_input=search_input, **self._start(request))
        # During typing no ranking is stored for each keystroke, only when more hits are requested.
        caller = None if is_partial(request) else self.access.identity
        result = search(workspace, search_input.query(), reader=self.access.reader, caller=caller)
        record_query(workspace, result, door=Door.PAGE, caller=self.access.identity)
        is_full = caller is None and len(result.hits) == int(search_input.k)
        context: dict[str, Any] = {
            "result": result,
            "total": count_found(result, has_more=is_full or result.next_cursor is not None),
            "notes": list(explain_gaps(result)),
            "hits": present_hits(self.access, search_input, result.hits),
            "more": more_address(workspace, search_input, "" if is_full else result.next_cursor),
            "as_typed": replace(search_input, typos=False).address,
            "meant": replace(search_input, text=result.did_you_mean or "").address,
            "hybrid": replace(search_input, mode=Mode.HYBRID).address,
        }
        if not is_partial(request):
            context |= self.count_filters(search_input)
        return self.render_search(request, search_input=search_input, **context)

    def _start(self, request: HtmxHttpRequest) -> dict[str, Any]:
        has_documents = self.access.workspace.head_seq > 0
        return start_lists(self.access, opened_ids(request)) if has_documents else {}


class CountedFilters(SearchingPage):
    """The filters of a search with their counts, which are fetched once its hits are shown."""

    def show(self, request: HtmxHttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the filters as a part of the search page; opened as a page, redirect to the search page.

        Raises SearchError.
        """
        search_input = SearchInput.from_parameters(request.GET)
        if request.headers.get("Sec-Fetch-Dest") == "document":
            return redirect(search_address(workspace, search_input))
        counts = {} if search_input.is_blank else self.count_filters(search_input)
        return self.render(request, "search/counted.html", asked=search_input, **counts)

    def render_problem(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """Return no filters: the problem is shown in place of the hits."""
        if self.workspace is None:
            return super().render_problem(request, problem)
        search_input = SearchInput.from_parameters(request.GET)
        response = self.render(request, "search/filters.html", asked=search_input)
        return apply_problem(reswap(response, "innerHTML"), problem)


def count_found(result: SearchResult, *, has_more: bool) -> dict[str, Any]:
    """Return the number of documents with all words, or that are shown if more, and if it is exact."""
    shown = sum(not hit.related for hit in result.hits)
    value = max(shown, result.lexical_total.value if result.lexical_total else 0)
    is_all = not has_more or shown < len(result.hits)
    return {"value": value, "is_exact": is_all or value > shown}


def explain_gaps(result: SearchResult) -> Iterator[str]:
    """Yield sentences on what a result lacks."""
    if "vector" in result.degraded:
        yield _("Showing word matches only; matches by meaning are missing.")
    if "lexical" in result.degraded:
        yield _("Showing matches by meaning only; word matches are missing right now.")
    if PRIMARY_UNREACHABLE in result.degraded:
        yield _("The latest changes may be missing right now.")
    if result.rerank and result.rerank.status == "fallback":
        yield _("Results may be less well ordered right now.")
    yield from result.warnings
    if result.lag:
        yield _("Recent changes aren’t searchable by their words yet. Search again in a moment.")


def is_partial(request: HtmxHttpRequest) -> bool:
    """Return whether htmx requests only a part of the page."""
    return bool(request.htmx) and not request.htmx.history_restore_request


def search_address(workspace: Workspace, search_input: SearchInput) -> str:
    """Return the address of the search page with these parameters."""
    page = reverse("search", args=[workspace.slug])
    return page if search_input.is_blank else f"{page}?{search_input.address}"


def more_address(workspace: Workspace, search_input: SearchInput, cursor: str | None) -> str | None:
    """Return the address of the next hits; the cursor '' means that none was issued yet.

    Returns None if there are no further hits.
    """
    if cursor is None:
        return None
    return (
        f"{reverse('search-more', args=[workspace.slug])}?{urlencode({'cursor': cursor})}"
        f"&{search_input.address}"
    )
