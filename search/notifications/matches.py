"""Documents that match a saved search, by its words: nearness alone would match every document."""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import replace
from heapq import nlargest
from operator import attrgetter
from typing import Final

from kebab.identity.caller import Access
from search.engine.search import search
from search.models import SavedSearch
from search.retrieval.query.filter_codec import filters_from_json
from search.retrieval.types import MAX_K, MAX_TEXT_CHARS, Group, Mode, SearchHit, SearchQuery

_SNIPPET_CHARS: Final = 300


def newest_matches(saved: SavedSearch, access: Access, *, limit: int) -> tuple[SearchHit, ...]:
    """Return the newest of the best matches that the owner may read. Raises SearchError.

    Documents without a date count by that of their indexing.
    """
    query = replace(_query(saved), snippet_chars=_SNIPPET_CHARS)
    found = search(saved.workspace, query, reader=access.reader, with_snippets=False).hits
    newest = nlargest(limit, found, key=attrgetter("date"))
    narrowed = _narrow(query, {hit.doc_id for hit in newest})
    hits = search(saved.workspace, narrowed, reader=access.reader).hits if newest else ()
    return tuple(sorted(hits, key=attrgetter("date"), reverse=True))


def changed_matches(
    saved: SavedSearch, access: Access, doc_ids: Sequence[uuid.UUID], *, seq: int
) -> tuple[SearchHit, ...]:
    """Return those of the documents that match and that the owner may read, as of change `seq`.

    Their snippets are whole passages. Raises SearchError, NotSearchableYet while this node has not applied
    that change.
    """
    query = _query(saved)
    chosen = {doc_id.hex for doc_id in doc_ids}
    if query.filters.doc_id:
        chosen &= set(query.filters.doc_id)
    if not chosen:
        return ()
    return search(saved.workspace, _narrow(query, chosen), reader=access.reader, min_seq=seq).hits


def _narrow(query: SearchQuery, doc_ids: Iterable[str]) -> SearchQuery:
    return replace(query, filters=replace(query.filters, doc_id=tuple(sorted(doc_ids))))


def _query(saved: SavedSearch) -> SearchQuery:
    return SearchQuery(
        text=saved.text,
        operators=True,
        mode=Mode.LEXICAL,
        group=Group.DOCUMENT,
        k=MAX_K,
        typos=False,
        floor=True,
        needs_words=True,
        filters=filters_from_json(saved.filters),
        snippet_chars=MAX_TEXT_CHARS,
    )
