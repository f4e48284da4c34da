"""JSON of search results, with keys in a fixed order."""

from collections.abc import Collection
from dataclasses import fields

from kebab.wire import Wire, adapter_of, to_wire
from search.retrieval.types import SearchHit, SearchResult

HIT_VERSION = "search_hit.v1"
RESPONSE_VERSION = "search_response.v1"
#: The same with some fields of hits.
SELECTION_VERSION = "search_selection.v1"
BULK_VERSION = "bulk_response.v1"
#: The fields of a hit.
HIT_FIELDS = ("schema_version", *(field.name for field in fields(SearchHit)))
# The hit itself has them, too, or its score comes from them.
_UNSENT_OF_HIT = {"retrieval": {"related", "outdated", "relevance"}}
_UNSENT_OF_RESULT = {"hits": {"__all__": _UNSENT_OF_HIT}}


def hit_to_wire(hit: SearchHit) -> Wire:
    """Return a `search_hit.v1`."""
    return {"schema_version": HIT_VERSION, **to_wire(hit, exclude=_UNSENT_OF_HIT)}


def result_to_wire(result: SearchResult, hit_fields: Collection[str] = ()) -> Wire:
    """Return a `search_response.v1`; a `search_selection.v1` if its hits have `hit_fields` alone."""
    wire = to_wire(result, exclude=_UNSENT_OF_RESULT)
    hits = [{"schema_version": HIT_VERSION, **hit} for hit in wire["hits"]]
    if hit_fields:
        hits = [{name: value for name, value in hit.items() if name in hit_fields} for hit in hits]
    version = SELECTION_VERSION if hit_fields else RESPONSE_VERSION
    return {"schema_version": version, **wire, "hits": hits}


adapter_of(SearchResult)  # made with the application, in whose memory the processes of a stack share it
