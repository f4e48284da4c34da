"""What callers say of hits, and the topics that come of it."""

import unicodedata
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from kebab.http.api.errors import NotFound
from kebab.people.access.caller import Access
from search.access.querysets import documents_of, sources_of
from search.access.restrictions import hidden_from
from search.corpus.content_ids import place_key, query_key
from search.evaluation.judged import MAX_TOPICS, JudgedTopic, Qrel
from search.evaluation.topic_sets import Kept, keep_topics, visible_topics, with_judgements
from search.models import Feedback, Topic, TopicOrigin
from search.models.evaluation import MAX_TOPIC_CHARS
from search.retrieval.citation import parse_uri
from search.retrieval.errors import InvalidQuery
from search.retrieval.text.cleaning import is_storable

#: The set that topics from feedback are of.
FEEDBACK_SET = "feedback"
#: What a list of feedback looks at.
NEWEST = 2_000
_SAID = ("query", "fragment", "is_relevant", "actor", "created_at")


def give_feedback(
    access: Access, *, query: str, source: str, citation: str, is_relevant: bool, version: str = ""
) -> Feedback:
    """Keep whether a hit answers `query`; what the caller said before of that document and query is replaced.

    `citation` is the hit's, or a path for the whole document; `source` is a key, `version` a tag, '' the
    default one. Raises InvalidQuery, InvalidCitation, and NotFound for a document that the caller may not
    read or that isn't there.
    """
    asked = _checked_query(query)
    path, _, fragment = citation.partition("#")
    if fragment:
        parse_uri(citation)
    documents = documents_of(access.workspace, access.reader)
    found = documents.filter(
        source__key=source, source__workspace=access.workspace, version__tag=version, path=path
    )
    document = found.first() if all(map(is_storable, (source, version, path))) else None
    if document is None:
        raise NotFound
    row = Feedback(
        workspace=access.workspace,
        query=asked,
        source_id=document.source_id,
        version=version,
        path=path,
        fragment=fragment,
        is_relevant=is_relevant,
        actor=access.actor,
        creator=access.identity,
        query_key=query_key(_folded(asked)),
        place_key=place_key(document.source_id, version, path),
    )
    once = {name: getattr(row, name) for name in ("creator", "query_key", "place_key")}
    Feedback.objects.bulk_create(
        [row], update_conflicts=True, unique_fields=["workspace", *once], update_fields=_SAID
    )
    return Feedback.objects.in_workspace(access.workspace).get(**once)


def own_feedback(access: Access, query: str) -> dict[tuple[str, str, str], bool]:
    """Return what the caller said of the hits of `query`, by (source, version tag, citation)."""
    try:
        key = query_key(_folded(_checked_query(query)))
    except InvalidQuery:  # of which nothing can have been said
        return {}
    own = Feedback.objects.in_workspace(access.workspace).filter(creator=access.identity, query_key=key)
    return {
        (row.source.key, row.version, _citation(row)): row.is_relevant for row in own.select_related("source")
    }


def visible_feedback(access: Access) -> "QuerySet[Feedback]":
    """Return the feedback that there is for the caller, newest first.

    Who reads every source has all, others their own, of sources that they may read.
    """
    feedback: QuerySet[Feedback] = Feedback.objects.in_workspace(access.workspace)
    if not hidden_from(access.workspace, access.reader).exists():
        return feedback
    readable = sources_of(access.workspace, access.reader).order_by().values("pk")
    return feedback.filter(creator=access.identity, source__in=readable)


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidOfDocument:
    """What was said of a document for one query."""

    source: str
    citation: str
    relevant: int
    irrelevant: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingFeedback:
    """What was said of a query's hits, where that is not what the set's judgements say."""

    query_key: uuid.UUID
    query: str
    said: tuple[SaidOfDocument, ...]
    last_said_at: datetime
    #: Whether most found some document relevant: only then there is something to judge.
    is_decided: bool


def pending_feedback(
    access: Access, topic_set: str = FEEDBACK_SET, *, newest: int = NEWEST
) -> list[PendingFeedback]:
    """Return the queries whose feedback is not judged so yet: decided ones first, and the one last spoken of.

    The queries of the `newest` feedback that there is for the caller are looked at, each with all of its own.
    """
    feedback = visible_feedback(access)
    keys = set(feedback.values_list("query_key", flat=True)[:newest])
    said = _said(feedback.filter(query_key__in=keys).select_related("source"))
    made = {key: _topic(key, rows) for key, rows in said.items()}
    rows = visible_topics(access, topic_set).filter(topic_id__in=[topic.topic_id for topic in made.values()])
    judged = {topic.topic_id: set(topic.qrels) for topic in with_judgements(access, rows)}
    pending = [
        _pending(key, said[key], topic)
        for key, topic in made.items()
        if not _is_decided(topic) or judged.get(topic.topic_id) != set(topic.qrels)
    ]
    return sorted(pending, key=lambda each: not each.is_decided)


def topics_from_feedback(
    access: Access, topic_set: str = FEEDBACK_SET, *, of_query: uuid.UUID | None = None
) -> Kept:
    """Make a topic of each query, or of one, with a document that more callers found relevant than not.

    Documents that most found irrelevant are judged 0, those with as many on both sides not at all. A topic
    that had come of such a query goes when no relevant document is left. Raises what `keep_topics` does.
    """
    feedback = visible_feedback(access).select_related("source")
    said = _said(feedback if of_query is None else feedback.filter(query_key=of_query))
    made = {key: _topic(key, rows) for key, rows in said.items()}
    relevant = [topic for topic in made.values() if _is_decided(topic)]
    gone = {topic.topic_id for topic in made.values()} - {topic.topic_id for topic in relevant}
    former = visible_topics(access, topic_set).filter(origin=TopicOrigin.FEEDBACK, topic_id__in=gone)
    Topic.objects.in_workspace(access.workspace).filter(pk__in=former.order_by().values("pk")).delete()
    return keep_topics(access, relevant[:MAX_TOPICS], topic_set=topic_set, origin=TopicOrigin.FEEDBACK)


def _said(feedback: Iterable[Feedback]) -> dict[uuid.UUID, list[Feedback]]:
    """Return the feedback by the key of its query, in its order."""
    said: dict[uuid.UUID, list[Feedback]] = defaultdict(list)
    for each in feedback:
        said[each.query_key].append(each)
    return said


def _is_decided(topic: JudgedTopic) -> bool:
    return any(qrel.grade > 0 for qrel in topic.qrels)


def _pending(key: uuid.UUID, rows: Sequence[Feedback], topic: JudgedTopic) -> PendingFeedback:
    by_document: dict[uuid.UUID, list[Feedback]] = defaultdict(list)
    for row in rows:
        by_document[row.place_key].append(row)
    return PendingFeedback(
        query_key=key,
        query=topic.text,
        said=tuple(map(_said_of_document, by_document.values())),
        last_said_at=rows[0].created_at,
        is_decided=_is_decided(topic),
    )


def _said_of_document(rows: Sequence[Feedback]) -> SaidOfDocument:
    first, relevant = rows[0], sum(row.is_relevant for row in rows)
    return SaidOfDocument(
        source=first.source.key,
        citation=_citation(first),
        relevant=relevant,
        irrelevant=len(rows) - relevant,
    )


def _citation(row: Feedback) -> str:
    return f"{row.path}#{row.fragment}" if row.fragment else row.path


def _topic(key: uuid.UUID, rows: Sequence[Feedback]) -> JudgedTopic:
    by_document: dict[uuid.UUID, list[Feedback]] = defaultdict(list)
    for row in rows:
        by_document[row.place_key].append(row)
    qrels = [qrel for said in by_document.values() for qrel in _majority(said)]
    return JudgedTopic(topic_id=f"feedback-{key.hex[:16]}", text=rows[0].query, qrels=tuple(qrels))


def _majority(said: Sequence[Feedback]) -> Iterable[Qrel]:
    votes = Counter(row.is_relevant for row in said)
    if votes[True] == votes[False]:
        return []
    is_relevant = votes[True] > votes[False]
    # The place, where all who say so mean the same.
    fragments = {row.fragment for row in said if row.is_relevant is is_relevant}
    return [
        Qrel(
            path=said[0].path,
            source=said[0].source.key,
            version=said[0].version,
            fragment=fragments.pop() if len(fragments) == 1 else "",
            grade=int(is_relevant),
        )
    ]


def _checked_query(query: str) -> str:
    asked = " ".join(unicodedata.normalize("NFC", query).split())
    if not asked or not is_storable(asked) or len(asked) > MAX_TOPIC_CHARS:
        raise InvalidQuery(
            f"The query is empty or has more than {MAX_TOPIC_CHARS:,} characters; give what was asked."
        )
    return asked


def _folded(asked: str) -> str:
    return unicodedata.normalize("NFC", asked.casefold())
