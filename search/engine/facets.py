"""Facets: the number of documents for each value of a filter, by query and reader."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

import apsw
from django.db.models import Q

from kebab.people.models import Workspace
from kebab.people.reader import Reader
from kebab.uuids import parse_uuid
from search.access.querysets import visible_sources
from search.access.scope import resolve_scope
from search.engine.corpus import mirror_source
from search.engine.search import apply_operators
from search.mirror import local_mirrors
from search.mirror.errors import MirrorError
from search.mirror.query.facets import FACETS, count_documents
from search.retrieval.query.filters import SearchFilters
from search.retrieval.types import SearchQuery

#: Maximum number of values returned for one filter.
MAX_VALUES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetValue:
    """A value of a filter and the number of documents it would match."""

    value: str
    documents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Facets:
    """The counts of each filter of FACETS, the most frequent values first."""

    #: Whether documents with any of the words are counted; else those with a passage that has all words.
    is_relaxed: bool
    #: Number of documents that pass all filters.
    total: int
    by_filter: Mapping[str, tuple[FacetValue, ...]]


def count_facets(
    workspace: Workspace,
    text: str,
    filters: SearchFilters,
    *,
    reader: Reader,
    moments: Iterable[datetime] = (),
) -> Facets | None:
    """Count the documents that `reader` may read, that pass `filters` and match the words of `text`.

    Operators in `text` are obeyed.
    A filter doesn't narrow its own counts. Its chosen values are always returned, and so is every moment of
    `moments`, in ISO 8601. The counts are those of this node's mirror; None if it has no mirror, or the
    counting exceeds the time limit of a leg. Raises InvalidQuery, Workspace.DoesNotExist.
    """
    scope = resolve_scope(workspace, filters, reader)
    scope, query = apply_operators(workspace, scope, SearchQuery(text=text, operators=True))
    local_mirrors.ensure_mirror(workspace.pk, scope.head_seq)
    since = {moment.isoformat(): moment.timestamp() for moment in moments}
    try:
        counted = count_documents(mirror_source(workspace, scope), query.effective_channels.lexical, since)
    except (MirrorError, apsw.InterruptError):
        return None
    by_filter = {
        name: tuple(_select_values(counted.by_filter[name], getattr(filters, name), name)) for name in FACETS
    }
    known = source_titles(workspace, reader, [each.value for each in by_filter["source"]])
    by_filter["source"] = tuple(each for each in by_filter["source"] if each.value in known)
    return Facets(is_relaxed=counted.is_relaxed, total=counted.total, by_filter=by_filter)


def source_titles(workspace: Workspace, reader: Reader, named: Iterable[str]) -> dict[str, str]:
    """Return the title, else the key, of the sources that `reader` may see, by the given key or id."""
    names = list(named)
    ids = [id_ for id_ in map(parse_uuid, names) if id_ is not None]
    rows = visible_sources(workspace, reader).filter(Q(key__in=names) | Q(pk__in=ids))
    titles: dict[str, str] = {}
    for pk, key, title in rows.order_by("key").values_list("pk", "key", "title"):
        titles |= {key: title or key, str(pk): title or key}
    return {name: titles[name] for name in names if name in titles}


def _select_values(counts: tuple[tuple[str, int], ...], chosen: object, name: str) -> list[FacetValue]:
    """Return the most frequent values and the chosen ones, whatever their counts."""
    found = dict(counts)
    if name in ("version", "lang", "author"):
        found.pop("", None)
    kept = list(found)[:MAX_VALUES]
    if isinstance(chosen, tuple):
        kept += [value for value in chosen if value not in kept]
    return [FacetValue(value=value, documents=found.get(value, 0)) for value in kept]
