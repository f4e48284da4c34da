"""Callers' feedback on hits, and the topics that are built from it."""

import unicodedata
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from kebab.errors import NotFound
from kebab.identity.caller import Access
from search.access.restrictions import hidden_sources, visible_documents, visible_sources
from search.corpus.content_ids import place_key, query_key
from search.evaluation.judged import MAX_TOPICS, JudgedTopic, Qrel
from search.evaluation.topic_sets import TopicChanges, store_topics, visible_topics, with_judgements
from search.models import Feedback, Topic, TopicOrigin
from search.models.evaluation import MAX_TOPIC_CHARS
from search.retrieval.citation import build_uri, parse_uri, split_uri
from search.retrieval.errors import InvalidQuery
from search.retrieval.text.sanitize import is_storable

#: Name of the set of topics from feedback.
FEEDBACK_SET = "feedback"
#: Number of newest feedback entries that a list of pending feedback considers.
NEWEST = 2_000
_UPDATED_FIELDS = ("query", "fragment", "is_relevant", "actor", "created_at")


def record_feedback(
    access: Access, *, query: str, source: str, citation: str, is_relevant: bool, version: str = ""
) -> Feedback:
    """Store whether a hit answers `query`, replacing the caller's earlier feedback on document and query.

    `citation` is the hit's, without a fragment for the whole document; `source` is a key, `version` a tag,
    '' the default one. Raises InvalidQuery, InvalidCitation, and NotFound for a document that doesn't exist
    or that the caller may not read.
    """
    clean_query = _clean_query(query)
    path, fragment = split_uri(citation)
    if fragment:
        parse_uri(citation)
    documents = visible_documents(access.workspace, access.reader)
    found = documents.filter(
        source__key=source, source__workspace=access.workspace, version__tag=version, path=path
    )
    document = found.first() if all(map(is_storable, (source, version, path))) else None
    if document is None:
        raise NotFound
    row = Feedback(
        workspace=access.workspace,
        query=clean_query,
        source_id=document.source_id,
        version=version,
        path=path,
        fragment=fragment,
        is_relevant=is_relevant,
        actor=access.actor,
        creator=access.identity,
        query_key=query_key(_fold(clean_query)),
        place_key=place_key(document.source_id, version, path),
    )
    key_fields = {name: getattr(row, name) for name in ("creator", "query_key", "place_key")}
    Feedback.objects.bulk_create(
        [row], update_conflicts=True, unique_fields=["workspace", *key_fields], update_fields=_UPDATED_FIELDS
    )
    return Feedback.objects.in_workspace(access.workspace).get(**key_fields)


def own_feedback(access: Access, query: str) -> dict[tuple[str, str, str], bool]:
    """Return the caller's feedback on the hits of `query` by (source, version tag, citation)."""
    try:
        key = query_key(_fold(_clean_query(query)))
    except InvalidQuery:  # such a query can't have feedback
        return {}
    own = Feedback.objects.in_workspace(access.workspace).filter(creator=access.identity, query_key=key)
    return {
        (row.source.key, row.version, _citation(row)): row.is_relevant for row in own.select_related("source")
    }


def visible_feedback(access: Access) -> "QuerySet[Feedback]":
    """Return the feedback that the caller may see, newest first.

    Callers who may read every source see all feedback, others their own on sources that they may read.
    """
    feedback: QuerySet[Feedback] = Feedback.objects.in_workspace(access.workspace)
    if not hidden_sources(access.workspace, access.reader).exists():
        return feedback
    readable = visible_sources(access.workspace, access.reader).order_by().values("pk")
    return feedback.filter(creator=access.identity, source__in=readable)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentVotes:
    """The votes on a document for one query."""

    source: str
    citation: str
    relevant: int
    irrelevant: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingFeedback:
    """Feedback on a query's hits that differs from the set's judgements."""

    query_key: uuid.UUID
    query: str
    votes: tuple[DocumentVotes, ...]
    last_vote_at: datetime
    #: Whether a majority found some document relevant; only then the query can become a topic.
    is_decided: bool


def pending_feedback(
    access: Access, topic_set: str = FEEDBACK_SET, *, newest: int = NEWEST
) -> list[PendingFeedback]:
    """Return the queries whose feedback isn't in the judgements yet: decided ones first, then newest first.

    Only queries with an entry among the `newest` feedback visible to the caller are considered, each with all
    of its feedback.
    """
    feedback = visible_feedback(access)
    keys = set(feedback.values_list("query_key", flat=True)[:newest])
    by_query = _votes_by_query(feedback.filter(query_key__in=keys).select_related("source"))
    topics = {key: _build_topic(key, votes) for key, votes in by_query.items()}
    rows = visible_topics(access, topic_set).filter(
        topic_id__in=[topic.topic_id for topic in topics.values()]
    )
    judged = {topic.topic_id: set(topic.qrels) for topic in with_judgements(access, rows)}
    pending = [
        PendingFeedback(
            query_key=key,
            query=topic.text,
            votes=tuple(map(_count_votes, by_query[key])),
            last_vote_at=by_query[key][0][0].created_at,
            is_decided=_is_decided(topic),
        )
        for key, topic in topics.items()
        if not _is_decided(topic) or judged.get(topic.topic_id) != set(topic.qrels)
    ]
    return sorted(pending, key=lambda each: not each.is_decided)


def store_topics_from_feedback(
    access: Access, topic_set: str = FEEDBACK_SET, *, of_query: uuid.UUID | None = None
) -> TopicChanges:
    """Store a topic for each query, or for one, with a document that a majority found relevant.

    Documents that a majority found irrelevant are judged 0, those with a tie not at all. A topic that was
    built from such a query is deleted when it has no relevant document any more. Raises the errors of
    `store_topics`.
    """
    feedback = visible_feedback(access).select_related("source")
    by_query = _votes_by_query(feedback if of_query is None else feedback.filter(query_key=of_query))
    topics = {key: _build_topic(key, votes) for key, votes in by_query.items()}
    relevant = [topic for topic in topics.values() if _is_decided(topic)]
    dropped = {topic.topic_id for topic in topics.values()} - {topic.topic_id for topic in relevant}
    former = visible_topics(access, topic_set).filter(origin=TopicOrigin.FEEDBACK, topic_id__in=dropped)
    Topic.objects.in_workspace(access.workspace).filter(pk__in=former.order_by().values("pk")).delete()
    return store_topics(access, relevant[:MAX_TOPICS], topic_set=topic_set, origin=TopicOrigin.FEEDBACK)


def _votes_by_query(feedback: Iterable[Feedback]) -> dict[uuid.UUID, list[list[Feedback]]]:
    """Return the votes on each document by the key of their query, in order."""
    by_query: dict[uuid.UUID, dict[uuid.UUID, list[Feedback]]] = defaultdict(lambda: defaultdict(list))
    for each in feedback:
        by_query[each.query_key][each.place_key].append(each)
    return {key: list(by_document.values()) for key, by_document in by_query.items()}


def _is_decided(topic: JudgedTopic) -> bool:
    return any(qrel.grade > 0 for qrel in topic.qrels)


def _count_votes(rows: Sequence[Feedback]) -> DocumentVotes:
    first, relevant = rows[0], sum(row.is_relevant for row in rows)
    return DocumentVotes(
        source=first.source.key,
        citation=_citation(first),
        relevant=relevant,
        irrelevant=len(rows) - relevant,
    )


def _citation(row: Feedback) -> str:
    return build_uri(row.path, row.fragment)


def _build_topic(key: uuid.UUID, votes: Sequence[Sequence[Feedback]]) -> JudgedTopic:
    qrels = tuple(qrel for of_document in votes for qrel in _majority_qrel(of_document))
    return JudgedTopic(topic_id=f"feedback-{key.hex[:16]}", text=votes[0][0].query, qrels=qrels)


def _majority_qrel(votes: Sequence[Feedback]) -> Iterable[Qrel]:
    counts = Counter(row.is_relevant for row in votes)
    if counts[True] == counts[False]:
        return []
    is_relevant = counts[True] > counts[False]
    # The judgement has a place only if all votes of the majority name the same one.
    fragments = {row.fragment for row in votes if row.is_relevant is is_relevant}
    return [
        Qrel(
            path=votes[0].path,
            source=votes[0].source.key,
            version=votes[0].version,
            fragment=fragments.pop() if len(fragments) == 1 else "",
            grade=int(is_relevant),
        )
    ]


def _clean_query(query: str) -> str:
    clean = " ".join(unicodedata.normalize("NFC", query).split())
    if not clean or not is_storable(clean) or len(clean) > MAX_TOPIC_CHARS:
        raise InvalidQuery(
            f"The query is empty or has more than {MAX_TOPIC_CHARS:,} characters; give what was asked."
        )
    return clean


def _fold(query: str) -> str:
    return unicodedata.normalize("NFC", query.casefold())
