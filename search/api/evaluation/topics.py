"""`/workspaces/{ws}/eval/topics`: what a workspace measures its search by."""

import uuid
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, ClassVar

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.http.api.errors import NotFound
from kebab.http.api.idempotency import idempotent
from kebab.http.api.openapi_schema import page_of
from kebab.http.api.pagination import KeysetPage
from kebab.http.api.parsers import StrictJSONParser
from kebab.http.api.permissions import Need
from kebab.http.api.serializers import strict_body
from kebab.http.api.views import WorkspaceView
from kebab.people.access.caller import Access
from kebab.people.models import Role, Scope
from search.api.evaluation.files import TopicFileParser, collection_of, file_of
from search.api.evaluation.serializers import (
    DeletedTopicsSerializer,
    ExportQuery,
    FeedbackSet,
    KeptTopicsSerializer,
    NewTopics,
    SetQuery,
    TopicFile,
    TopicSerializer,
    TopicSetsSerializer,
    TopicsQuery,
)
from search.evaluation.feedback import topics_from_feedback
from search.evaluation.judged import TopicCollection
from search.evaluation.topic_sets import (
    Kept,
    delete_topic,
    delete_topics,
    judged_topics,
    keep_topics,
    sets_of,
    topic_of,
    visible_topics,
    with_judgements,
)
from search.models import Topic
from search.models.evaluation import GOLDEN

EVALUATE = Need(role=Role.ADMIN, scope=Scope.MANAGE)
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
        page = KeysetPage.requested(self, ordering=("topic_set", "topic_id"))
        rows, next_cursor = page.cut(visible_topics(self.access, self.query.get("set")))
        return Response({"results": _shown(self.access, rows), "next_cursor": next_cursor})

    @extend_schema(
        request={"application/json": NewTopics, "multipart/form-data": TopicFile},
        responses={201: KeptTopicsSerializer},
    )
    @idempotent(recheck=None)
    def post(self, request: Request, ws: str) -> Response:
        """Keep topics: as JSON, or a golden file, or files in TREC's or BEIR's format.

        One whose id the set knows takes the place of that one, with its judgements.
        """
        collection = collection_of(request)
        name = collection.topic_set or GOLDEN
        return _kept_answer(name, keep_topics(self.access, collection.topics, topic_set=name))

    @extend_schema(responses={200: DeletedTopicsSerializer})
    def delete(self, request: Request, ws: str) -> Response:
        """Delete all topics of a set that you may see; runs that have asked them stay."""
        name = self.query["set"]
        deleted = delete_topics(self.access, name)
        return Response(DeletedTopicsSerializer({"set": name, "deleted": deleted}).data)


class OneEvalTopicView(WorkspaceView):
    """One topic."""

    required: ClassVar = {"GET": EVALUATE, "DELETE": EVALUATE}

    @extend_schema(responses=TopicSerializer)
    def get(self, request: Request, ws: str, topic_id: uuid.UUID) -> Response:
        """Return the topic with its judgements."""
        return Response(_shown(self.access, [topic_of(self.access, topic_id)])[0])

    @extend_schema(responses={204: None})
    def delete(self, request: Request, ws: str, topic_id: uuid.UUID) -> Response:
        """Delete the topic with its judgements; runs that have asked it stay."""
        delete_topic(self.access, topic_id)
        return Response(status=204)


class EvalTopicSetsView(WorkspaceView):
    """The sets that topics are of."""

    required: ClassVar = {"GET": EVALUATE}

    @extend_schema(responses=TopicSetsSerializer)
    def get(self, request: Request, ws: str) -> Response:
        """List the sets by name, with how many topics of each you may see."""
        return Response(TopicSetsSerializer({"results": sets_of(self.access)}).data)


class EvalTopicExportView(WorkspaceView):
    """A set as a file."""

    required: ClassVar = {"GET": EVALUATE}
    queries: ClassVar = {"GET": ExportQuery}

    @extend_schema(responses={(200, "text/plain"): OpenApiTypes.STR})
    def get(self, request: Request, ws: str) -> HttpResponse:
        """Return the topics of a set that you may see, as a file that the import takes back."""
        topics = judged_topics(self.access, self.query["set"])
        if not topics:
            raise NotFound
        found = TopicCollection(topics=tuple(topics), topic_set=self.query["set"])
        return file_of(found, self.query["format"])


class EvalTopicsOfFeedbackView(WorkspaceView):
    """Topics made of what people said of hits."""

    required: ClassVar = {"POST": EVALUATE}

    @extend_schema(request=FeedbackSet, responses={201: KeptTopicsSerializer})
    @idempotent(recheck=None)
    def post(self, request: Request, ws: str) -> Response:
        """Make each query that has feedback a topic; a document is judged as most said."""
        name = strict_body(request, FeedbackSet)["set"]
        return _kept_answer(name, topics_from_feedback(self.access, name))


def _kept_answer(name: str, kept: Kept) -> Response:
    return Response(KeptTopicsSerializer({"set": name, **asdict(kept)}).data, status=201)


def _shown(access: Access, topics: Sequence[Topic]) -> list[Any]:
    judged = with_judgements(access, topics)
    return [
        TopicSerializer({"row": row, "judged": each}).data for row, each in zip(topics, judged, strict=True)
    ]
