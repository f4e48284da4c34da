"""JSON-ready dicts of results, with keys in a fixed order; an absent value is None, never left out."""

from collections.abc import Callable, Collection
from dataclasses import fields
from datetime import UTC, datetime
from functools import cache
from operator import attrgetter
from typing import Any

from search.retrieval.citation import Citation
from search.retrieval.types import Facets, HitSection, SearchHit, SearchResult

Wire = dict[str, object]

HIT_VERSION = "search_hit.v1"
RESPONSE_VERSION = "search_response.v1"
#: The same with some fields of hits.
SELECTION_VERSION = "search_selection.v1"
BULK_VERSION = "bulk_response.v1"


def citation_to_wire(citation: Citation) -> Wire:
    """Return the citation's fields, then its `uri`."""
    return field_values(citation) | {"uri": citation.uri}


#: The fields of a hit.
HIT_FIELDS = ("schema_version", *(field.name for field in fields(SearchHit)))


def hit_to_wire(hit: SearchHit) -> Wire:
    """Return a `search_hit.v1`."""
    retrieval = field_values(hit.retrieval) | {"method": hit.retrieval.method.value}
    del retrieval["related"]  # which is the hit's
    return {
        "schema_version": HIT_VERSION,
        **field_values(hit),
        "heading_path": list(hit.heading_path),
        "highlights": [list(highlight) for highlight in hit.highlights],
        "citation": citation_to_wire(hit.citation),
        "retrieval": retrieval,
        "indexed_at": time_to_wire(hit.indexed_at),
        "tags": list(hit.tags),
        "trust_level": hit.trust_level.value,
        "date": time_to_wire(hit.date),
        "also_in": list(hit.also_in),
        "sections": None if hit.sections is None else [_section_to_wire(each) for each in hit.sections],
    }


def _section_to_wire(section: HitSection) -> Wire:
    return {
        **field_values(section),
        "heading_path": list(section.heading_path),
        "highlights": [list(highlight) for highlight in section.highlights],
        "citation": citation_to_wire(section.citation),
    }


def result_to_wire(result: SearchResult, hit_fields: Collection[str] = ()) -> Wire:
    """Return a `search_response.v1`; a `search_selection.v1` if its hits have `hit_fields` alone."""
    hits = [hit_to_wire(hit) for hit in result.hits]
    if hit_fields:
        hits = [{name: value for name, value in hit.items() if name in hit_fields} for hit in hits]
    return {
        "schema_version": SELECTION_VERSION if hit_fields else RESPONSE_VERSION,
        **field_values(result),
        "mode": result.mode.value,
        "degraded": list(result.degraded),
        "warnings": list(result.warnings),
        "rerank": None if result.rerank is None else field_values(result.rerank),
        "lexical_total": None if result.lexical_total is None else field_values(result.lexical_total),
        "vector_window": None if result.vector_window is None else field_values(result.vector_window),
        "hits": hits,
        "explain": None if result.explain is None else dict(result.explain),
        "promoted": [field_values(answer) for answer in result.promoted],
        "facets": None if result.facets is None else _facets_to_wire(result.facets),
    }


def _facets_to_wire(facets: Facets) -> Wire:
    counted = facets.by_filter.items()
    return {
        **field_values(facets),
        "by_filter": {name: [field_values(value) for value in values] for name, values in counted},
    }


def time_to_wire(moment: datetime) -> str:
    """Return `moment`, which has a time zone, in UTC by ISO 8601 with a final `Z`.

    Raises: ValueError for a moment without a time zone.
    """
    if moment.tzinfo is None:
        raise ValueError(f"{moment.isoformat()} has no time zone; make it aware where it is read.")
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def field_values(value: Any) -> Wire:
    """Return the fields of a dataclass by name, their values unchanged."""
    names, read_values = _field_reader(type(value))  # type: ignore[arg-type]  # mypy thinks that classes have no hash
    return dict(zip(names, read_values(value), strict=True))


@cache
def _field_reader(type_: type[Any]) -> tuple[tuple[str, ...], Callable[[Any], tuple[object, ...]]]:
    """Return the names of a dataclass's fields, two or more, and a function that reads their values."""
    names = tuple(field.name for field in fields(type_))
    return names, attrgetter(*names)
