"""How many documents each value of a filter would leave, for the words of a query and whoever reads."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

import apsw
from django.db.models import Q

from kebab.people.models import Workspace
from kebab.people.reader import Reader
from kebab.uuids import as_uuid
from search.access.querysets import sources_of
from search.access.scope import resolve_scope
from search.engine.search import mirror_reading
from search.mirror import local_mirrors
from search.mirror.errors import MirrorError
from search.mirror.query.facets import FACETS, count_documents
from search.retrieval.query.filters import SearchFilters

#: Values of one filter that are given, at most.
MAX_VALUES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetValue:
    """A value of a filter, and how many documents it would leave."""

    value: str
    documents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Facets:
    """The counts of each filter of FACETS, the commonest values first."""

    #: Whether documents with any of the words count; else those with a passage that has all of them.
    is_relaxed: bool
    #: Documents that all filters let through.
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
    """Count the documents that `reader` may read, that `filters` let through and `text`'s words match.

    What a filter is set to doesn't narrow its own counts, its chosen values are always given, and so is every
    moment of `moments`, by ISO 8601. The counts are those of this node's mirror; None: it has none, or they
    would take longer than a leg may. Raises InvalidQuery, Workspace.DoesNotExist.
    """
    scope = resolve_scope(workspace, filters, reader)
    local_mirrors.ensure_mirror(workspace.pk, scope.head_seq)
    since = {moment.isoformat(): moment.timestamp() for moment in moments}
    try:
        counted = count_documents(mirror_reading(workspace, scope), text, since)
    except (MirrorError, apsw.InterruptError):
        return None
    by_filter = {
        name: tuple(_given(counted.by_filter[name], getattr(filters, name), name)) for name in FACETS
    }
    known = source_titles(workspace, reader, [each.value for each in by_filter["source"]])
    by_filter["source"] = tuple(each for each in by_filter["source"] if each.value in known)
    return Facets(is_relaxed=counted.is_relaxed, total=counted.total, by_filter=by_filter)


def source_titles(workspace: Workspace, reader: Reader, named: Iterable[str]) -> dict[str, str]:
    """Return the title, or the key, of those of the sources named by key or id that `reader` may know of."""
    names = list(named)
    ids = [id_ for id_ in map(as_uuid, names) if id_ is not None]
    rows = sources_of(workspace, reader).filter(Q(key__in=names) | Q(pk__in=ids))
    titles = {}
    for pk, key, title in rows.order_by("key").values_list("pk", "key", "title"):
        titles |= {key: title or key, str(pk): title or key}
    return {name: titles[name] for name in names if name in titles}


def _given(counts: tuple[tuple[str, int], ...], chosen: object, name: str) -> list[FacetValue]:
    """Return the commonest values and those that are chosen, whatever their counts."""
    found = dict(counts)
    if name in ("version", "lang"):
        found.pop("", None)
    kept = list(found)[:MAX_VALUES]
    if isinstance(chosen, tuple):
        kept += [value for value in chosen if value not in kept]
    return [FacetValue(value=value, documents=found.get(value, 0)) for value in kept]
