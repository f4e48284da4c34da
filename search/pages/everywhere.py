"""The page that searches all workspaces of a person."""

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views import View

from kebab.errors import NotFound
from kebab.identity.caller import Access, Need, caller_accesses, caller_of
from kebab.identity.models import Role, TokenScope
from kebab.pages.page import Page
from kebab.tenancy.current_workspace import acting_in
from search.engine.several import MAX_WORKSPACES, SeveralResults, search_several
from search.models import Door
from search.pages.search.form import SearchInput
from search.pages.search.hits import ShownHit, present_hits
from search.query_log.recorder import record_query
from search.retrieval.errors import SearchError

_NEED = Need(role=Role.VIEWER, scope=TokenScope.SEARCH)
_HITS = 20


class SearchEverywhere(Page):
    """The best hits of all workspaces."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Return the hits of the query `q`, or a page that asks for one."""
        asked = SearchInput.from_parameters(request.GET)
        context: dict[str, Any] = {"place": "everywhere", "text": asked.text}
        status = 200
        if not asked.is_blank:
            try:
                context |= _search(self._accesses(request), asked)
            except SearchError as error:
                context["problem"], status = str(error), error.status
        return render(request, "search/everywhere.html", context, status=status)

    def _accesses(self, request: HttpRequest) -> list[Access]:
        caller = caller_of(request)
        if caller is None:
            raise NotFound
        return [each for each in caller_accesses(caller, limit=MAX_WORKSPACES) if _NEED.allows(each)]


class OpenSearchDescription(View):
    """The OpenSearch 1.1 description, by which browsers search from their address bar; for anyone."""

    http_method_names = ("get", "head")

    def get(self, request: HttpRequest) -> HttpResponse:
        """Return the description."""
        context = {
            "description": _("Search all workspaces"),
            "icon": request.build_absolute_uri(static("kebab/kebab.svg")),
            "page": request.build_absolute_uri(reverse("everywhere")),
        }
        type_ = "application/opensearchdescription+xml"
        return render(request, "search/opensearch.xml", context, content_type=type_)


def _search(accesses: list[Access], asked: SearchInput) -> dict[str, Any]:
    query = asked.query()
    found = search_several(accesses, lambda access: query, k=_HITS, per_workspace=_HITS)
    for access, result in found.by_workspace:
        record_query(access.workspace, result, door=Door.PAGE, caller=access.identity)
    shown = dict(_present(found, asked))
    return {
        "found": found,
        "hits": [(each.workspace, shown[each.workspace.pk, each.hit.chunk_id]) for each in found.hits],
        "notes": [
            f"{access.workspace.name}: {message}"
            for access, result in found.by_workspace
            for message in result.warnings
        ],
        "promoted": [answer for _, result in found.by_workspace for answer in result.promoted],
        "spaces": [
            (
                access.workspace,
                found.count_hits(access.workspace),
                f"{reverse('search', args=[access.workspace.slug])}?{urlencode({'q': asked.text})}",
            )
            for access, _ in found.by_workspace
        ],
    }


def _present(found: SeveralResults, asked: SearchInput) -> Any:
    """Yield the view model of each hit by its workspace and chunk."""
    for access, result in found.by_workspace:
        chosen = {each.hit.chunk_id for each in found.hits if each.workspace == access.workspace}
        hits = [hit for hit in result.hits if hit.chunk_id in chosen]
        with acting_in(access.workspace.pk):
            shown: list[ShownHit] = present_hits(access, asked, hits)
        for each in shown:
            yield (access.workspace.pk, each.hit.chunk_id), each
