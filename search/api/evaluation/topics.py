"""`/workspaces/{ws}/eval/topics`: the topics that a workspace's search is evaluated with."""

import uuid
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, ClassVar

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.errors import NotFound
from kebab.http.api.idempotency import idempotent
from kebab.http.api.openapi_schema import page_of
from kebab.http.api.pagination import KeysetPage
from kebab.http.api.parsers import StrictJSONParser
from kebab.http.api.serializers import strict_body
from kebab.http.api.views import WorkspaceView
from kebab.identity.caller import Access
from kebab.identity.permissions import MANAGERS
from search.api.evaluation.files import TopicFileParser, parse_collection, topics_response
from search.api.evaluation.serializers import (
    DeletedTopicsSerializer,
    ExportQuery,
    FeedbackSet,
    KeptTopicsSerializer,
    NewTopics,
    SetQuery,
    TopicSerializer,
    TopicSetsSerializer,
    TopicsQuery,
)
from search.evaluation.feedback import store_topics_from_feedback
from search.evaluation.judged import TopicCollection
from search.evaluation.topic_sets import (
    TopicChanges,
    delete_topic,
    delete_topics,
    get_topic,
    judged_topics,
    list_sets,
    store_topics,
    visible_topics,
    with_judgements,
)
from search.models import Topic
from search.models.evaluation import GOLDEN

EVALUATE = MANAGERS
_BODY_LIMIT_BYTES = 5_000_000


class EvalTopicsView(WorkspaceView):
    """The topics of a workspace with their judgements."""

    parser_classes = (StrictJSONParser, TopicFileParser)
    required: ClassVar = {"GET": EVALUATE, "POST": EVALUATE, "DELETE": EVALUATE}
    queries: ClassVar = {"GET": TopicsQuery, "DELETE": SetQuery}
    body_limit_bytes = _BODY_LIMIT_BYTES

    @extend_schema(responses=page_of(TopicSerializer))
    def get(self, request: Request, ws: str) -> Response:
        """List the topics by set and id: those whose judgements all name sources that you may read."""
        page = KeysetPage.from_view(self, ordering=("topic_set", "topic_id"))
        rows, next_cursor = page.fetch(visible_topics(self.access, self.query.get("set")))
        return Response({"results": _serialize_topics(self.access, rows), "next_cursor": next_cursor})

    @extend_schema(
        request={"application/json": NewTopics},
        responses={201: KeptTopicsSerializer},
    )
    @idempotent(recheck=None)
    def post(self, request: Request, ws: str) -> Response:
        """Store topics, sent as JSON, as a golden file, or as files in TREC's or BEIR's format.

        Files are sent as a form with `file`, `format`, and for TREC and BEIR `qrels`. A topic whose id the
        set has already replaces that one and its judgements.
        """
        collection = parse_collection(request)
        name = collection.topic_set or GOLDEN
        return _stored_topics_response(name, store_topics(self.access, collection.topics, topic_set=name))

    @extend_schema(responses={200: DeletedTopicsSerializer})
    def delete(self, request: Request, ws: str) -> Response:
        """Delete all topics of a set that you may see; runs that used them stay."""
        name = self.query["set"]
        deleted = delete_topics(self.access, name)
        return Response(DeletedTopicsSerializer({"set": name, "deleted": deleted}).data)


class OneEvalTopicView(WorkspaceView):
    """One topic."""

    required: ClassVar = {"GET": EVALUATE, "DELETE": EVALUATE}

    @extend_schema(responses=TopicSerializer)
    def get(self, request: Request, ws: str, topic_id: uuid.UUID) -> Response:
        """Return the topic with its judgements."""
        return Response(_serialize_topics(self.access, [get_topic(self.access, topic_id)])[0])

    @extend_schema(responses={204: None})
    def delete(self, request: Request, ws: str, topic_id: uuid.UUID) -> Response:
        """Delete the topic with its judgements; runs that used it stay."""
        delete_topic(self.access, topic_id)
        return Response(status=204)


class EvalTopicSetsView(WorkspaceView):
    """The sets of topics."""

    required: ClassVar = {"GET": EVALUATE}

    @extend_schema(responses=TopicSetsSerializer)
    def get(self, request: Request, ws: str) -> Response:
        """List the sets by name, with the number of topics of each that you may see."""
        return Response(TopicSetsSerializer({"results": list_sets(self.access)}).data)


class EvalTopicExportView(WorkspaceView):
    """The export of a set as a file."""

    required: ClassVar = {"GET": EVALUATE}
    queries: ClassVar = {"GET": ExportQuery}

    @extend_schema(responses={(200, "text/plain"): OpenApiTypes.STR})
    def get(self, request: Request, ws: str) -> HttpResponse:
        """Return the topics of a set that you may see, as a file that can be imported again."""
        topics = judged_topics(self.access, self.query["set"])
        if not topics:
            raise NotFound
        found = TopicCollection(topics=tuple(topics), topic_set=self.query["set"])
        return topics_response(found, self.query["format"])


class EvalTopicsOfFeedbackView(WorkspaceView):
    """Topics created from feedback on hits."""

    required: ClassVar = {"POST": EVALUATE}

    @extend_schema(request=FeedbackSet, responses={201: KeptTopicsSerializer})
    @idempotent(recheck=None)
    def post(self, request: Request, ws: str) -> Response:
        """Create a topic from each query that has feedback; a document's grade is the majority's."""
        name = strict_body(request, FeedbackSet)["set"]
        return _stored_topics_response(name, store_topics_from_feedback(self.access, name))


def _stored_topics_response(name: str, kept: TopicChanges) -> Response:
    return Response(KeptTopicsSerializer({"set": name, **asdict(kept)}).data, status=201)


def _serialize_topics(access: Access, topics: Sequence[Topic]) -> list[Any]:
    judged = with_judgements(access, topics)
    return [
        TopicSerializer({"row": row, "judged": each}).data for row, each in zip(topics, judged, strict=True)
    ]
