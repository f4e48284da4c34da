"""Serializers of topics, judgements and feedback."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from kebab.http.api.serializers import ShortListField, StrictSerializer
from kebab.http.api.views import PageQuery
from search.api.query_fields import FilterFields
from search.evaluation.judged import MAX_GRADE, MIN_GRADE, JudgedTopic, Qrel
from search.models import Feedback, TopicOrigin
from search.models.document import MAX_PATH_CHARS
from search.models.evaluation import (
    GOLDEN,
    MAX_FRAGMENT_CHARS,
    MAX_SET_CHARS,
    MAX_TOPIC_CHARS,
    MAX_TOPIC_ID_CHARS,
)
from search.models.source import MAX_TAG_CHARS

#: The limit of a JSON body; a file may hold more.
MAX_TOPICS_A_BODY = 1_000
_MAX_JUDGEMENTS = 1_000
_MAX_KEY_CHARS = 63
_OF_FRAGMENT = "What a citation has behind its `#`, like `L7-L12`; empty: the whole document."
_OF_VERSION = "The version's tag; empty: the default version."


@extend_schema_field(FilterFields)
class TopicFiltersField(serializers.JSONField):
    """Filters as in a search request, passed on unchanged; the topic validates them."""


def set_field(**options: Any) -> serializers.CharField:
    """Return the field that names a set of topics."""
    return serializers.CharField(max_length=MAX_SET_CHARS, **options)


class QrelFields(StrictSerializer):
    """A judgement: the relevance of a document, or of a place in it."""

    path = serializers.CharField(max_length=MAX_PATH_CHARS, trim_whitespace=False)
    source = serializers.CharField(  # type: ignore[assignment]  # a declared field, not the base's attribute
        max_length=_MAX_KEY_CHARS, required=False, allow_null=True, help_text="Its key; null: of any source."
    )
    version = serializers.CharField(
        max_length=MAX_TAG_CHARS, default="", allow_blank=True, help_text=_OF_VERSION
    )
    fragment = serializers.CharField(
        max_length=MAX_FRAGMENT_CHARS, default="", allow_blank=True, help_text=_OF_FRAGMENT
    )
    grade = serializers.IntegerField(
        min_value=MIN_GRADE, max_value=MAX_GRADE, default=1, help_text="Above 0 is relevant."
    )


class TopicFields(StrictSerializer):
    """A topic with all its judgements."""

    topic_id = serializers.CharField(max_length=MAX_TOPIC_ID_CHARS, help_text="Its name within the set.")
    query = serializers.CharField(max_length=MAX_TOPIC_CHARS, trim_whitespace=False)
    filters = TopicFiltersField(default=dict)
    is_unanswerable = serializers.BooleanField(
        default=False, help_text="Whether no answer, or a refusal, is right."
    )
    judgements = ShortListField(child=QrelFields(), max_length=_MAX_JUDGEMENTS, required=False)


class NewTopics(StrictSerializer):
    """Topics of a set; a topic with a known `topic_id` replaces that one and its judgements."""

    set = set_field(default=GOLDEN)
    topics = ShortListField(child=TopicFields(), min_length=1, max_length=MAX_TOPICS_A_BODY)


class TopicFile(StrictSerializer):
    """Topics as files."""

    format = serializers.ChoiceField(["golden", "trec", "beir"], default="golden")
    file = serializers.FileField(
        help_text="A golden file (YAML), TREC's topics, or BEIR's `queries.jsonl`: UTF-8."
    )
    qrels = serializers.FileField(
        required=False, help_text="The judgements of TREC's topics (four columns) or BEIR's (`test.tsv`)."
    )
    set = set_field(required=False, help_text="Left out: what a golden file says, else `golden`.")


class SetQuery(StrictSerializer):
    """The parameter that names a set."""

    set = set_field()


class TopicsQuery(PageQuery):
    """The parameters of a workspace's topics."""

    set = set_field(required=False)


class ExportQuery(StrictSerializer):
    """The parameters of an export."""

    set = set_field(default=GOLDEN)
    format = serializers.ChoiceField(
        ["golden", "trec-topics", "trec-qrels", "beir-queries", "beir-qrels"], default="golden"
    )


class FeedbackSet(StrictSerializer):
    """The body of a request that creates topics from feedback."""

    set = set_field(default="feedback")


class KeptTopicsSerializer(serializers.Serializer[Any]):
    """Counts of the topics that a request added, changed and left unchanged."""

    set = serializers.CharField()
    added = serializers.IntegerField()
    changed = serializers.IntegerField()
    unchanged = serializers.IntegerField()


class DeletedTopicsSerializer(serializers.Serializer[Any]):
    """The number of deleted topics."""

    set = serializers.CharField()
    deleted = serializers.IntegerField()


class TopicSetSerializer(serializers.Serializer[Any]):
    """A set of topics."""

    set = serializers.CharField(source="topic_set")
    topics = serializers.IntegerField()
    judged = serializers.IntegerField(help_text="Topics that have a judgement.")
    unanswerable = serializers.IntegerField()


class TopicSetsSerializer(serializers.Serializer[Any]):
    """The sets of a workspace."""

    results = TopicSetSerializer(many=True)


class JudgementSerializer(serializers.Serializer[Any]):
    """The relevance of a document, or of a place in it."""

    path = serializers.CharField()
    source = serializers.CharField(  # type: ignore[assignment]  # a declared field, not the base's attribute
        allow_null=True, help_text="Its key; null: of any source."
    )
    version = serializers.CharField(help_text=_OF_VERSION)
    fragment = serializers.CharField(help_text=_OF_FRAGMENT)
    grade = serializers.IntegerField()


class TopicSerializer(serializers.Serializer[Any]):
    """A topic with its judgements, serialised from the row and the parsed value."""

    id = serializers.UUIDField(source="row.id")
    set = serializers.CharField(source="row.topic_set")
    topic_id = serializers.CharField(source="row.topic_id")
    query = serializers.CharField(source="row.text")
    filters = serializers.DictField(source="row.filters", help_text="As in a search request.")
    is_unanswerable = serializers.BooleanField(source="row.is_unanswerable")
    judgements = JudgementSerializer(many=True, source="judged.qrels")
    origin = serializers.ChoiceField(TopicOrigin.choices, source="row.origin")
    created_by = serializers.CharField(source="row.created_by")
    created_at = serializers.DateTimeField(source="row.created_at")


class NewFeedback(StrictSerializer):
    """New feedback on a hit."""

    query = serializers.CharField(max_length=MAX_TOPIC_CHARS)
    citation = serializers.CharField(
        max_length=MAX_PATH_CHARS + MAX_FRAGMENT_CHARS + 1,
        trim_whitespace=False,
        help_text="The hit's `citation.uri`; without its fragment, the whole document.",
    )
    source = serializers.CharField(  # type: ignore[assignment]  # a declared field, not the base's attribute
        max_length=_MAX_KEY_CHARS, help_text="The hit's `source`."
    )
    version = serializers.CharField(
        max_length=MAX_TAG_CHARS, default="", allow_blank=True, help_text="The hit's `version`."
    )
    is_relevant = serializers.BooleanField(help_text="Whether it answers the query.")


class FeedbackSerializer(serializers.Serializer[Feedback]):
    """Feedback on a hit. For each person or token the last feedback on a document counts."""

    id = serializers.UUIDField()
    query = serializers.CharField()
    path = serializers.CharField()
    source = serializers.CharField(source="source.key")  # type: ignore[assignment]  # a declared field, not the base's attribute
    version = serializers.CharField(help_text=_OF_VERSION)
    fragment = serializers.CharField(help_text=_OF_FRAGMENT)
    is_relevant = serializers.BooleanField()
    actor = serializers.CharField(help_text="An address, or `kbb_` and a token's prefix.")
    created_at = serializers.DateTimeField()


def build_topic(fields: Mapping[str, Any]) -> JudgedTopic:
    """Build a topic from the clean fields of `TopicFields`. Raises InvalidJudgedSet."""
    return JudgedTopic(
        topic_id=fields["topic_id"],
        text=fields["query"],
        filters=fields["filters"],
        qrels=tuple(Qrel(**each) for each in fields.get("judgements", ())),
        is_unanswerable=fields["is_unanswerable"],
    )
