"""Stored topics and judgements of a workspace, grouped in sets.

Callers who may read every source see all topics. Others see a topic while each of its judgements names a
source that they may read; a topic without judgements is visible only to its creator.
"""

import unicodedata
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from kebab.database.querysets import first_or_not_found
from kebab.errors import Conflict, NotFound
from kebab.identity.caller import Access
from kebab.people import audit
from search.access.restrictions import hidden_sources, visible_documents, visible_sources
from search.corpus.content_ids import place_key, query_key
from search.errors import UnknownSource
from search.evaluation.judged import MAX_TOPICS, JudgedTopic, Qrel, TopicCollection, check_set_name
from search.models import Document, Judgement, Topic, TopicOrigin
from search.models.evaluation import GOLDEN
from search.retrieval.errors import InvalidJudgedSet, preview

_BATCH = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SetSummary:
    """A set and its numbers of topics."""

    topic_set: str
    topics: int
    #: Number of topics with a judgement.
    judged: int
    unanswerable: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicChanges:
    """Numbers of topics that were added, changed and left unchanged."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0


def visible_topics(access: Access, topic_set: str | None = None) -> "QuerySet[Topic]":
    """Return the topics that the caller may see, of one set or of all."""
    topics: QuerySet[Topic] = Topic.objects.in_workspace(access.workspace)
    if topic_set is not None:
        topics = topics.filter(topic_set=topic_set)
    unseen = hidden_sources(access.workspace, access.reader).values_list("pk", "key")
    names = [str(name) for row in unseen for name in row]
    if not names:
        return topics
    readable = visible_sources(access.workspace, access.reader).order_by().values("pk")
    judged = Judgement.objects.filter(workspace=OuterRef("workspace"), topic=OuterRef("pk"))
    hidden = judged.filter(Q(source=None) | ~Q(source__in=readable))
    unfiltered = Q(filters__source__isnull=True) | ~Q(filters__source__has_any_keys=names)
    known = Exists(judged) | Q(creator=access.identity)
    return topics.filter(unfiltered).filter(~Exists(hidden)).filter(known)


def get_topic(access: Access, topic_pk: uuid.UUID) -> Topic:
    """Return a topic by the id of its row. Raises NotFound."""
    return first_or_not_found(visible_topics(access).filter(pk=topic_pk))


def find_topic(access: Access, topic_set: str, topic_id: str) -> Topic:
    """Return a topic by its set and its id in it. Raises NotFound."""
    return first_or_not_found(visible_topics(access, topic_set).filter(topic_id=topic_id))


def list_sets(access: Access) -> list[SetSummary]:
    """Return the sets with a topic that the caller may see, by name."""
    judged = Judgement.objects.filter(workspace=OuterRef("workspace"), topic=OuterRef("pk"))
    counted = (
        visible_topics(access)
        .order_by("topic_set")
        .values("topic_set")
        .annotate(
            topics=Count("*"),
            judged=Count("pk", filter=Exists(judged)),
            unanswerable=Count("pk", filter=Q(is_unanswerable=True)),
        )
    )
    return [SetSummary(**row) for row in counted]


def judged_topics(access: Access, topic_set: str = GOLDEN) -> list[JudgedTopic]:
    """Return the set's topics with their judgements, ordered by topic id; empty for an unknown set."""
    return with_judgements(access, visible_topics(access, topic_set).order_by("topic_id"))


def with_judgements(access: Access, topics: Iterable[Topic]) -> list[JudgedTopic]:
    """Return these topics of the workspace as values with their judgements, in the given order."""
    listed = list(topics)
    qrels = _qrels_of(access, [topic.pk for topic in listed])
    return [
        JudgedTopic(
            topic_id=topic.topic_id,
            text=topic.text,
            filters=topic.filters,
            qrels=tuple(qrels[topic.pk]),
            is_unanswerable=topic.is_unanswerable,
        )
        for topic in listed
    ]


def _qrels_of(access: Access, topics: Sequence[uuid.UUID]) -> Mapping[uuid.UUID, list[Qrel]]:
    keys = {source.pk: source.key for source in visible_sources(access.workspace, access.reader)}
    rows = Judgement.objects.in_workspace(access.workspace).filter(topic__in=topics)
    found: dict[uuid.UUID, list[Qrel]] = defaultdict(list)
    for row in rows.order_by("path", "fragment", "version", "place_key"):
        if row.source_id is None or row.source_id in keys:
            qrel = Qrel(
                path=row.path,
                source=None if row.source_id is None else keys[row.source_id],
                version=row.version,
                fragment=row.fragment,
                grade=row.grade,
            )
            found[row.topic_id].append(qrel)
    return found


def store_topics(
    access: Access,
    topics: Iterable[JudgedTopic],
    *,
    topic_set: str = GOLDEN,
    origin: TopicOrigin = TopicOrigin.IMPORTED,
) -> TopicChanges:
    """Add the topics to the set; a topic with a known id gets new query, filters and judgements.

    A judgement without a source belongs to the one source readable by the caller that has the document, or to
    the only readable source. Raises InvalidJudgedSet, UnknownSource, and Conflict for an id of a topic that
    the caller may not see.
    """
    given = TopicCollection(topics=tuple(topics), topic_set=check_set_name(topic_set)).topics
    resolved = _resolve_sources(access, given)
    with transaction.atomic():
        added = _add_rows(access, resolved, topic_set, origin)
        rows = _lock_rows(access, [each.topic_id for each in resolved], topic_set)
        before = {found.topic_id: found for found in with_judgements(access, rows.values())}
        fresh = [each for each in resolved if rows[each.topic_id].pk in added]
        known = [each for each in resolved if rows[each.topic_id].pk not in added]
        changed = [each for each in known if not _is_same(each, before[each.topic_id])]
        _update_rows(access, [(rows[each.topic_id], each) for each in changed])
        _add_judgements(access, [(rows[each.topic_id], each) for each in (*fresh, *changed)])
        _check_size(access, topic_set)
        if fresh or changed:
            audit.record(access, "topics.kept", topic_set, added=len(fresh), changed=len(changed))
    return TopicChanges(added=len(fresh), changed=len(changed), unchanged=len(known) - len(changed))


def query_topic_id(text: str) -> str:
    """Return the id of a topic that is identified by its query, regardless of case and white space."""
    folded = unicodedata.normalize("NFC", " ".join(text.split()).casefold())
    return f"query-{query_key(folded).hex[:16]}"


def missing_paths(access: Access, topic: JudgedTopic) -> list[str]:
    """Return the paths of the topic's judgements without a document that the caller may read."""
    paths = {_normalise_path(qrel.path): qrel.path for qrel in topic.qrels}
    documents = visible_documents(access.workspace, access.reader).filter(path__in=paths)
    found = set(documents.order_by().values_list("path", flat=True))
    return [given for path, given in paths.items() if path not in found]


def delete_topic(access: Access, topic_pk: uuid.UUID) -> None:
    """Delete a topic with its judgements; runs retain their copies. Raises NotFound."""
    with transaction.atomic():
        topic = get_topic(access, topic_pk)
        Topic.objects.in_workspace(access.workspace).filter(pk=topic.pk).delete()
        audit.record(access, "topics.deleted", topic.topic_set, topic=topic.topic_id, topics=1)


def delete_topics(access: Access, topic_set: str) -> int:
    """Delete the topics of a set that the caller may see; return their number. Raises NotFound for none."""
    with transaction.atomic():
        deleted, _ = visible_topics(access, topic_set).delete()
        if not deleted:
            raise NotFound
        audit.record(access, "topics.deleted", topic_set, topics=deleted)
    return deleted


def _resolve_sources(access: Access, topics: Sequence[JudgedTopic]) -> list[JudgedTopic]:
    """Return the topics, with the source of each judgement resolved where it is unambiguous."""
    keys = set(visible_sources(access.workspace, access.reader).values_list("key", flat=True))
    unnamed = {qrel.path for topic in topics for qrel in topic.qrels if qrel.source is None}
    holders = _holders(access, {_normalise_path(path) for path in unnamed})
    only = next(iter(keys)) if len(keys) == 1 else None

    def locate(qrel: Qrel) -> Qrel:
        if qrel.source is not None and qrel.source not in keys:
            raise UnknownSource(
                f"There is no source {preview(qrel.source)} for {preview(qrel.path)}; name one by key."
            )
        path = _normalise_path(qrel.path)
        if path.startswith("/"):
            raise InvalidJudgedSet(f"{preview(path)} is not the path of a document: begin without `/`.")
        found = holders.get((qrel.version, path), set())
        source = qrel.source or (next(iter(found)) if len(found) == 1 else only)
        return replace(qrel, path=path, source=source)

    return [replace(topic, qrels=tuple(map(locate, topic.qrels))) for topic in topics]


def _holders(access: Access, paths: Iterable[str]) -> Mapping[tuple[str, str], set[str]]:
    """Return the keys of the sources that have a document, by version tag and path."""
    readable = visible_sources(access.workspace, access.reader).order_by().values("pk")
    documents = Document.objects.in_workspace(access.workspace).filter(path__in=paths, source__in=readable)
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for version, path, key in documents.order_by().values_list("version__tag", "path", "source__key"):
        found[version, path].add(key)
    return found


def _normalise_path(path: str) -> str:
    return unicodedata.normalize("NFC", path)


def _add_rows(
    access: Access, topics: Sequence[JudgedTopic], topic_set: str, origin: TopicOrigin
) -> set[uuid.UUID]:
    """Add a row for each topic whose id is new to the set, and return the ids of the attempted rows."""
    ids = [each.topic_id for each in topics]
    of_set = Topic.objects.in_workspace(access.workspace).filter(topic_set=topic_set, topic_id__in=ids)
    known = set(of_set.values_list("topic_id", flat=True))
    rows = [
        Topic(
            workspace=access.workspace,
            topic_set=topic_set,
            topic_id=each.topic_id,
            text=each.text,
            filters=dict(each.filters),
            is_unanswerable=each.is_unanswerable,
            origin=origin,
            created_by=access.actor,
            creator=access.identity,
        )
        for each in sorted(topics, key=lambda each: each.topic_id)
        if each.topic_id not in known
    ]
    # On a conflict with a concurrent insert, the other's row stays and is updated.
    Topic.objects.bulk_create(rows, batch_size=_BATCH, ignore_conflicts=True)
    return {row.pk for row in rows}


def _lock_rows(access: Access, ids: Sequence[str], topic_set: str) -> dict[str, Topic]:
    of_set = Topic.objects.in_workspace(access.workspace).filter(topic_set=topic_set, topic_id__in=ids)
    rows = {row.topic_id: row for row in of_set.order_by("topic_id").select_for_update()}
    visible = set(
        visible_topics(access, topic_set).filter(topic_id__in=ids).values_list("topic_id", flat=True)
    )
    for topic_id in ids:
        if topic_id not in rows or topic_id not in visible:
            raise Conflict(f"The topic id {preview(topic_id)} is taken in this set; choose another.")
    return rows


def _is_same(wanted: JudgedTopic, found: JudgedTopic) -> bool:
    expected = (wanted.text, dict(wanted.filters), wanted.is_unanswerable)
    return expected == (found.text, dict(found.filters), found.is_unanswerable) and set(wanted.qrels) == set(
        found.qrels
    )


def _update_rows(access: Access, topics: Sequence[tuple[Topic, JudgedTopic]]) -> None:
    """Set each row's query and filters from its topic, and delete the row's judgements."""
    for row, topic in topics:
        row.text, row.filters, row.is_unanswerable = topic.text, dict(topic.filters), topic.is_unanswerable
    rows = [row for row, _ in topics]
    # The rows exist and are locked. Django's bulk_update writes a CASE of all rows, which takes five times as
    # long.
    Topic.objects.bulk_create(
        rows,
        batch_size=_BATCH,
        update_conflicts=True,
        unique_fields=["workspace", "topic_set", "topic_id"],
        update_fields=["text", "filters", "is_unanswerable"],
    )
    judgements = Judgement.objects.in_workspace(access.workspace)
    judgements.filter(topic__in=[row.pk for row in rows]).delete()


def _add_judgements(access: Access, topics: Sequence[tuple[Topic, JudgedTopic]]) -> None:
    """Add the judgements of each topic to its row."""
    keys = dict(visible_sources(access.workspace, access.reader).values_list("key", "pk"))
    judgements = [
        _judgement(row, qrel, None if qrel.source is None else keys[qrel.source])
        for row, topic in topics
        for qrel in topic.qrels
    ]
    Judgement.objects.bulk_create(judgements, batch_size=_BATCH)


def _judgement(topic: Topic, qrel: Qrel, source_id: uuid.UUID | None) -> Judgement:
    return Judgement(
        workspace_id=topic.workspace_id,
        topic_id=topic.pk,
        source_id=source_id,
        version=qrel.version,
        path=qrel.path,
        fragment=qrel.fragment,
        grade=qrel.grade,
        place_key=place_key(source_id, qrel.version, qrel.path, qrel.fragment),
    )


def _check_size(access: Access, topic_set: str) -> None:
    count = Topic.objects.in_workspace(access.workspace).filter(topic_set=topic_set).count()
    if count > MAX_TOPICS:
        raise InvalidJudgedSet(f"The set would have {count:,} topics; give {MAX_TOPICS:,} at most.")
