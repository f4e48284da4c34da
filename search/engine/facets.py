"""Facets: the number of documents for each value of a filter, by query and reader."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

import apsw
import numpy as np
from django.db.models import Q

from kebab.identity.models import Workspace
from kebab.identity.reader import Reader
from kebab.uuids import parse_uuid
from search.access.restrictions import visible_sources
from search.access.scope import SearchScope, resolve_scope
from search.engine.candidates import find_candidates
from search.engine.corpus import Corpus
from search.engine.did_you_mean import correct_words
from search.engine.search import apply_operators
from search.engine.time_limit import limited_search
from search.mirror.files import MirrorError
from search.mirror.query.attributes import METADATA
from search.mirror.query.facets import FACETS, MatchedRows, are_few, count_documents, match_words
from search.mirror.query.lexical import LexicalLeg
from search.mirror.query.view import MirrorView
from search.retrieval.fusion.legs import candidate_limit, pack_ids, unpack_ids
from search.retrieval.query.conditions import METADATA_PREFIX
from search.retrieval.query.filters import SearchFilters
from search.retrieval.query.metadata import Value, as_shown, fold_value
from search.retrieval.types import Facets, FacetValue, Mode, SearchQuery
from search.settings.search_settings import SearchSettings

#: Maximum number of values returned for one filter.
MAX_VALUES = 10
# Hits of the search whose documents are counted where few passages have all words.
_WINDOW = 500


@limited_search
def count_facets(
    workspace: Workspace,
    query: SearchQuery,
    *,
    reader: Reader,
    names: Sequence[str] = FACETS,
    moments: Iterable[datetime] = (),
    max_values: int = MAX_VALUES,
) -> Facets | None:
    """Count the documents that `reader` may read, that pass the query's filters and match it.

    Those match that have all of its words, after corrections, in a passage. Where few passages have, those
    match that a search shows: with some of the words, or with vectors those above the floor. `names` are
    those of FACETS, `metadata` for the names of fields, and `metadata.` with the name of one. A filter
    doesn't narrow its own counts. Its chosen values are always returned, and so is every moment of `moments`,
    in ISO 8601. The counts are those of this node's mirror; None if it has no mirror, or the counting exceeds
    the time limit of a leg.
    Raises InvalidQuery, Workspace.DoesNotExist.
    """
    scope = resolve_scope(workspace, query.filters, reader)
    scope, query = apply_operators(workspace, scope, query)
    try:
        with Corpus(workspace, scope).open_mirror() as view:
            counted = count_documents(view, _matcher(workspace, view, query), moments, names)
    except (MirrorError, apsw.InterruptError):
        return None
    by_filter = {
        name: tuple(_select_values(counted.by_filter[name], _chosen(scope, name), name, max_values))
        for name in names
    }
    if "source" in by_filter:
        known = source_titles(workspace, reader, [str(each.value) for each in by_filter["source"]])
        by_filter["source"] = tuple(each for each in by_filter["source"] if each.value in known)
    return Facets(
        is_relaxed=counted.is_relaxed,
        relation="eq" if counted.is_exact else "gte",
        total=counted.total,
        by_filter=by_filter,
    )


def source_titles(workspace: Workspace, reader: Reader, named: Iterable[str]) -> dict[str, str]:
    """Return the title, else the key, of the sources that `reader` may see, by the given key or id."""
    names = list(named)
    ids = [id_ for id_ in map(parse_uuid, names) if id_ is not None]
    rows = visible_sources(workspace, reader).filter(Q(key__in=names) | Q(pk__in=ids))
    titles: dict[str, str] = {}
    for pk, key, title in rows.order_by("key").values_list("pk", "key", "title"):
        titles |= {key: title or key, str(pk): title or key}
    return {name: titles[name] for name in names if name in titles}


def _matcher(workspace: Workspace, view: MirrorView, query: SearchQuery) -> Callable[[], MatchedRows] | None:
    """Return what finds the matching chunks; None for a query without words, which all documents match."""
    if query.is_listing or not (query.text.strip() or query.channels):
        return None
    if query.mode is not Mode.VECTOR:
        query, _ = correct_words(workspace, view, query)
    leg = LexicalLeg(
        view,
        query.effective_channels.lexical,
        breadcrumb_weight=SearchSettings.of(workspace).breadcrumb_weight,
        is_unfinished=query.is_unfinished,
    )
    return partial(_match, workspace, view, query, leg)


def _match(workspace: Workspace, view: MirrorView, query: SearchQuery, leg: LexicalLeg) -> MatchedRows:
    words = leg.matching_rows()
    if query.mode is Mode.LEXICAL or view.scope.space is None:
        return match_words(view, words)
    if query.mode is Mode.HYBRID and not are_few(view, words.every):
        return MatchedRows(rows=words.every, is_exact=False)
    found = _find_shown(workspace, view, query)
    if found is None:
        return match_words(view, words)
    return found if query.mode is Mode.VECTOR else replace(found, rows=found.rows | words.every)


def _find_shown(workspace: Workspace, view: MirrorView, query: SearchQuery) -> MatchedRows | None:
    """Return the chunks that a search without filters has above the floor; None if it has no vectors."""
    scope = replace(view.scope, filters=SearchFilters(), sources=view.scope.readable, operators=None)
    corpus = Corpus(workspace, scope)
    with corpus.open_mirror(may_build=False) as unfiltered:
        found = find_candidates(corpus, replace(query, floor=True), unfiltered, window=_WINDOW, executor=None)
    ranked = found.ranked
    if "vector" not in ranked.lists:
        return None
    folded = (found.copies, found.older)
    copies = [each for id_ in unpack_ids(ranked.ids) for copies in folded for each in copies.get(id_, ())]
    places = view.rows_of(np.concatenate([ranked.ids, pack_ids(copies)]))
    rows = np.zeros(len(view.passes), bool)
    rows[places[(places >= 0) & (places < len(rows))]] = True
    longest = max(len(each.ids) for each in ranked.lists.values())
    return MatchedRows(rows=rows, is_relaxed=True, is_exact=longest < candidate_limit(_WINDOW))


def _chosen(scope: SearchScope, name: str) -> tuple[Value, ...]:
    """Return the values that a filter is set to; of sources named by id the keys."""
    filters = scope.filters
    if name == "source" and filters.source:
        return () if scope.sources is None else scope.sources.keys
    if name.startswith(METADATA_PREFIX):
        named = (each for each in filters.metadata if METADATA_PREFIX + each.name == name)
        return tuple(value for each in named for value in each.chosen)
    chosen = () if name == METADATA else getattr(filters, name)
    return chosen if isinstance(chosen, tuple) else ()


def _select_values(
    counts: tuple[tuple[Value, int], ...], chosen: tuple[Value, ...], name: str, max_values: int
) -> list[FacetValue]:
    """Return the most frequent values and the chosen ones, whatever their counts."""
    found = dict(counts)
    if name in ("version", "lang", "author"):
        found.pop("", None)
    kept = list(found)[:max_values]
    spelled = {fold_value(value): value for value in found}
    wanted = {fold_value(value): value for value in chosen}
    kept += [value for value in (spelled.get(*each) for each in wanted.items()) if value not in kept]
    return [FacetValue(value=as_shown(value), documents=found.get(value, 0)) for value in kept]
