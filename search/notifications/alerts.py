"""Alerts: documents that have changed are searched for those that match, once they are searchable.

The number of the last change that was looked at moves in the transaction that queues the mail or the event.
"""

import logging
import time
import uuid
from collections.abc import Iterable, Sequence, Set
from dataclasses import replace
from datetime import timedelta
from heapq import nlargest
from itertools import pairwise
from operator import attrgetter
from typing import Any, Final

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Coalesce, Now

from kebab.identity.caller import Access
from kebab.tenancy.current_workspace import acting_everywhere, acting_in
from kebab.webhooks.endpoints import Event, derive_event_id, publish
from kebab.webhooks.models import EventType
from search.engine.search import search
from search.mirror.local_mirrors import wait_for_seq
from search.models import AlertDocument, Change, Document, Notify, SavedSearch
from search.notifications.saved_searches import owner_access
from search.retrieval.errors import SearchError
from search.retrieval.query.edit_distance import MIN_CHARS, edit_distance
from search.retrieval.query.filter_codec import filters_from_json
from search.retrieval.text.snippet import Highlight, sentence_starts
from search.retrieval.text.unicode_scripts import is_unspaced, words_of
from search.retrieval.types import MAX_K, MAX_SECTIONS, MAX_TEXT_CHARS, Group, Mode, SearchHit, SearchQuery

# Characters that are compared of each passage.
_MOST_CHARS: Final = 4_000


def record_matches(
    saved: SavedSearch, hits: Sequence[SearchHit], changed: Iterable[uuid.UUID]
) -> list[SearchHit]:
    """Store by which passages documents match now; return the hits that an alert is due of.

    `hits` are those of the `changed` documents that match; the others are forgotten. Call it in the
    transaction that queues the alert.
    """
    rows = AlertDocument.objects.in_workspace(saved.workspace_id).filter(saved_search=saved.pk)
    matching = {uuid.UUID(hex=hit.doc_id): hit for hit in hits}
    rows.filter(document__doc_id__in=set(changed) - matching.keys()).delete()
    before = dict(rows.filter(document__doc_id__in=matching).values_list("document__doc_id", "passages"))
    ids = Document.objects.in_workspace(saved.workspace_id).filter(doc_id__in=matching)
    passages = {doc_id: matched_passages(hit) for doc_id, hit in matching.items()}
    AlertDocument.objects.bulk_create(
        [
            AlertDocument(
                workspace_id=saved.workspace_id,
                saved_search=saved,
                document_id=pk,
                passages=passages[doc_id],
            )
            for doc_id, pk in ids.values_list("doc_id", "pk")
        ],
        update_conflicts=True,
        unique_fields=["workspace", "saved_search", "document"],
        update_fields=["passages"],
    )
    return [hit for doc_id, hit in matching.items() if is_news(hit, passages[doc_id], before.get(doc_id, ()))]


def matched_passages(hit: SearchHit) -> list[str]:
    """Return the folded words around those of the query in the passages of a document, the best one first."""
    return [_words_around(each.snippet, each.highlights) for each in hit.sections or ()]


def is_news(hit: SearchHit, passages: Sequence[str], before: Sequence[str]) -> bool:
    """Return whether a document has a passage that none `before` equals, but for its spelling.

    Of more passages than a hit shows only the best one counts, as others come and go with their ranks.
    """
    shown = passages if (hit.section_count or 0) <= MAX_SECTIONS else passages[:1]
    return any(not any(_is_same(passage, other) for other in before) for passage in shown)


def _words_around(text: str, highlights: Sequence[Highlight]) -> str:
    """Return the words of the sentences with a highlight and of their neighbours; all without any."""
    spans = _sentences(text)
    found = {
        number
        for number, (start, end) in enumerate(spans)
        if any(low < end and high > start for low, high in highlights)
    }
    near = [
        text[start:end]
        for number, (start, end) in enumerate(spans)
        if not found or found & {number - 1, number, number + 1}
    ]
    return " ".join(words_of(" ".join(near)[:_MOST_CHARS]))


def _sentences(text: str) -> list[Highlight]:
    starts = [0, *sentence_starts(text), len(text)]
    return list(pairwise(starts))


def _is_same(passage: str, other: str) -> bool:
    words, others = passage.split(), other.split()
    return len(words) == len(others) and all(map(_is_respelling, words, others))


def _is_respelling(word: str, other: str) -> bool:
    """Return whether two words are equal but for a mistyped letter. Numbers and signs are never mistyped."""
    if word == other:
        return True
    if not (word.isalpha() and other.isalpha()) or is_unspaced(word[0]):
        return False
    if len(word) <= MIN_CHARS or len(other) <= MIN_CHARS:
        return len(word) == MIN_CHARS and sorted(word) == sorted(other)
    return abs(len(word) - len(other)) <= 1 and edit_distance(word, other) <= 1


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


logger = logging.getLogger(__name__)

#: The most documents that one event or mail names.
MAX_NAMED: Final = 100
# Searches that one call evaluates, its time, and changes that each looks at; the next call goes on.
_SEARCHES: Final = 100
_RUN_LIMIT_S: Final = 2.0
_CHANGES: Final = 200
# So long a call waits for this node's mirror.
_WAIT_S: Final = 1.0
#: Matches are collected for as long, so that many changes are one mail.
MAIL_DELAY: Final = timedelta(minutes=5)


def evaluate_alerts() -> int:
    """Queue the alerts of saved searches behind the log of their workspace; return how many had matches."""
    ends_at = time.monotonic() + _RUN_LIMIT_S
    with acting_everywhere():
        behind = list(_behind().order_by("?").values_list("workspace_id", "pk")[:_SEARCHES])
    return sum(_evaluate_safely(*ids) for ids in behind if time.monotonic() < ends_at)


def _evaluate_safely(workspace_id: uuid.UUID, search_id: uuid.UUID) -> bool:
    try:
        with acting_in(workspace_id):
            return _evaluate(workspace_id, search_id)
    except Exception:  # the others are evaluated
        logger.exception("saved search %s is left to the next call", search_id)
        return False


def _behind() -> "QuerySet[SavedSearch]":
    alerted = SavedSearch.objects.exclude(notify=Notify.NO)
    return alerted.filter(workspace__head_seq__gt=F("seen_seq"))


def _evaluate(workspace_id: uuid.UUID, search_id: uuid.UUID) -> bool:
    """Look at the next changes; return whether some documents match."""
    rows = _behind().filter(workspace=workspace_id, pk=search_id)
    saved = rows.select_related("workspace", "membership").first()
    if saved is None:
        return False
    log = Change.objects.in_workspace(workspace_id).filter(seq__gt=saved.seen_seq).order_by("seq")
    changes = list(log[:_CHANGES])
    seq = changes[-1].seq if changes else saved.workspace.head_seq
    upserted = {change.doc_id for change in changes if change.op == "upsert"}
    hits = _find_matches(saved, sorted(upserted), seq)
    return hits is not None and _queue(saved, hits, upserted, seq)


def _find_matches(saved: SavedSearch, doc_ids: Sequence[uuid.UUID], seq: int) -> tuple[SearchHit, ...] | None:
    """Return the matches for the owner; None if they can't be found now."""
    access = owner_access(saved)
    if access is None or not doc_ids:
        return ()
    try:
        wait_for_seq(saved.workspace_id, seq, limit_s=_WAIT_S)
        return changed_matches(saved, access, doc_ids, seq=seq)
    except SearchError as error:
        if error.status >= 500:
            return None
        # Such as a source that is gone, by which it is narrowed.
        logger.info("saved search %s matches nothing: %s", saved.pk, type(error).__name__)
        return ()


def _queue(saved: SavedSearch, found: Sequence[SearchHit], changed: Set[uuid.UUID], seq: int) -> bool:
    """Queue the alert and move the number, unless another call or the owner was faster.

    `found` are those of the `changed` documents that match.
    """
    own = SavedSearch.objects.in_workspace(saved.workspace_id).filter(pk=saved.pk)
    with transaction.atomic():
        fresh = own.filter(seen_seq=saved.seen_seq, notify=saved.notify).select_for_update().first()
        if fresh is None:
            return False
        hits = record_matches(saved, found, changed)
        mail: dict[str, Any] = {}
        if hits and saved.notify == Notify.WEBHOOK:
            publish(saved.workspace_id, [_event(saved, hits, seq)])
        elif hits:
            told = [uuid.UUID(hex=hit.doc_id) for hit in hits]
            due_at = Coalesce("mail_due_at", Now() + MAIL_DELAY)
            unsent = list(dict.fromkeys([*fresh.unsent, *told]))[-MAX_NAMED:]
            mail = {"unsent": unsent, "mail_due_at": due_at}
        own.update(seen_seq=seq, **mail)
    return bool(hits)


def _event(saved: SavedSearch, hits: Sequence[SearchHit], seq: int) -> Event:
    documents = [
        {"document": hit.doc_id, "source": hit.source, "version": hit.version, "path": hit.doc_path}
        for hit in hits
    ]
    return Event(
        type=EventType.ALERT_MATCHED,
        subject=str(saved.pk),
        data={
            "saved_search": str(saved.pk),
            "name": saved.name,
            "query": saved.text,
            "seq": seq,
            "documents": documents[:MAX_NAMED],
            "document_count": len(documents),
        },
        id=derive_event_id("alert", saved.pk, seq),
    )
