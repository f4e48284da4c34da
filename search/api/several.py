"""`/search`: search over the workspaces that the caller may read."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from kebab.errors import NotFound
from kebab.http.api.openapi_schema import wire_component
from kebab.http.api.serializers import ShortListField, strict_body
from kebab.http.api.views import ApiView
from kebab.identity.caller import Access, Caller, caller_access, caller_accesses
from kebab.wire import Wire, to_wire
from search.api.query import effective_filters, hide_answers, make_query
from search.api.query_fields import TYPED_TEXT, ChannelFields, FilterFields, RankingFields
from search.api.search import READ, json_response
from search.engine.several import MAX_WORKSPACES, SeveralResults, search_several
from search.models import Door
from search.query_log.recorder import record_query
from search.retrieval.types import DEFAULT_K, MAX_K, SearchResult
from search.wire import hit_to_wire

_VERSION = "several_response.v1"
# What is told of the result of each workspace, in this order.
_SUMMARY = (
    *("related_total", "lexical_total", "index_version", "seq", "lag"),
    *("took_ms", "degraded", "warnings", "promoted"),
)


class SeveralBody(RankingFields):
    """The body of a search over several workspaces."""

    filters = FilterFields(required=False, allow_null=True)
    channels = ChannelFields(required=False, allow_null=True)
    workspaces = ShortListField(
        child=serializers.CharField(max_length=63),
        required=False,
        allow_null=True,
        min_length=1,
        max_length=MAX_WORKSPACES,
        help_text="Slugs or ids; without them all that you may search.",
    )
    per_workspace = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=MAX_K, help_text="The most hits of one: k."
    )


class SeveralSearchView(ApiView):
    """Search in several workspaces at once."""

    only_reads = True
    typed_text = TYPED_TEXT

    @extend_schema(request=SeveralBody, responses={200: wire_component(_VERSION)})
    def post(self, request: Request) -> HttpResponse:
        """Search the workspaces, each with its settings, and merge their lists."""
        given = strict_body(request, SeveralBody)
        accesses = self._accesses(given.get("workspaces"))
        k = min(given.get("k") or DEFAULT_K, MAX_K)
        filters = given.get("filters", {})
        per_workspace = given.get("per_workspace") or k
        asked = {**given, "k": min(k, per_workspace)}
        found = search_several(
            accesses,
            lambda access: make_query(access.workspace, asked, effective_filters(access, given, filters)),
            k=k,
            per_workspace=per_workspace,
        )
        for access, result in found.by_workspace:
            record_query(access.workspace, result, door=Door.API, caller=access.identity)
        return json_response(_to_wire(given["q"], found))

    def _accesses(self, named: Sequence[str] | None) -> list[Access]:
        """Return the accesses to the named workspaces, or to all. Raises NotFound, Forbidden."""
        if named is None:
            return searchable(self.caller)
        accesses = {access.workspace.pk: access for access in map(self._access, named)}
        for access in accesses.values():
            READ.check(access)
        return list(accesses.values())

    def _access(self, name: str) -> Access:
        try:
            return caller_access(self.caller, name)
        except NotFound as error:
            raise NotFound(f"There is no workspace {name!r} that you may see.") from error


def searchable(caller: Caller, *, limit: int = MAX_WORKSPACES) -> list[Access]:
    """Return a caller's accesses to the workspaces they may search, of their first `limit` by slug.

    Raises Forbidden if they may search none of these.
    """
    every = caller_accesses(caller, limit=limit)
    found = [access for access in every if READ.allows(access)]
    if every and not found:
        READ.check(every[0])
    return found


def _to_wire(query: str, found: SeveralResults) -> Wire:
    return {
        "schema_version": _VERSION,
        "query": query,
        "took_ms": found.took_ms,
        "hits": [{"workspace": each.workspace.slug, "hit": hit_to_wire(each.hit)} for each in found.hits],
        "workspaces": [
            _summary(access, result, found.count_hits(access.workspace))
            for access, result in found.by_workspace
        ],
    }


def _summary(access: Access, result: SearchResult, n_hits: int) -> dict[str, Any]:
    workspace, shown = access.workspace, to_wire(hide_answers(access, result), include=set(_SUMMARY))
    return {
        "slug": workspace.slug,
        "name": workspace.name,
        "hits": n_hits,
        **{name: shown[name] for name in _SUMMARY},
    }
