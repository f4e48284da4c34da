"""`/workspaces/{ws}/eval/topics`: the topics that a workspace's search is evaluated with."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

from django.http import HttpResponse, QueryDict
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.parsers import DataAndFiles
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.errors import FieldError, InvalidRequest, NotFound, TooLarge
from kebab.http.api.idempotency import idempotent
from kebab.http.api.openapi_schema import page_of
from kebab.http.api.parsers import StrictJSONParser, StrictMultiPartParser
from kebab.http.api.serializers import strict_body
from kebab.http.api.views import KeysetPage, WorkspaceView
from kebab.identity.caller import MANAGERS, Access
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
    build_topic,
)
from search.evaluation.feedback import store_topics_from_feedback
from search.evaluation.formats import golden, trec
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

_LIMIT_BYTES = 20_000_000


class TopicFileParser(StrictMultiPartParser):
    """Parser of multipart/form-data of 20 MB at most."""

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> "DataAndFiles[Any, Any]":
        """Parse fields and files. Raises TooLarge before anything is read, ParseError, InvalidRequest."""
        length = (parser_context or {})["request"].META.get("CONTENT_LENGTH") or "0"
        if not length.isdecimal() or int(length) > _LIMIT_BYTES:
            raise TooLarge(
                f"The files are larger than the limit of {_LIMIT_BYTES} bytes together; split them."
            )
        return super().parse(stream, media_type, parser_context)


def parse_collection(request: Request) -> TopicCollection:
    """Parse the topics of a JSON body or a form. Raises ValidationError, InvalidRequest, InvalidJudgedSet."""
    if isinstance(request.data, QueryDict):
        return _parse_files(strict_body(request, TopicFile))
    fields = strict_body(request, NewTopics)
    return TopicCollection(topics=tuple(map(build_topic, fields["topics"])), topic_set=fields["set"])


def _parse_files(fields: Mapping[str, Any]) -> TopicCollection:
    read = {"golden": _parse_golden, "trec": _parse_trec, "beir": _parse_beir}[fields["format"]]
    found = read(fields)
    return TopicCollection(topics=found.topics, topic_set=fields.get("set", found.topic_set))


def _parse_golden(fields: Mapping[str, Any]) -> TopicCollection:
    if "qrels" in fields:
        message = "A golden file has its judgements itself; leave this out."
        raise InvalidRequest(f"qrels: {message}", errors=[FieldError(field="qrels", message=message)])
    return golden.parse_golden(_read_text(fields, "file"), fields["file"].name)


def _parse_trec(fields: Mapping[str, Any]) -> TopicCollection:
    topics = trec.parse_topics(_read_text(fields, "file"), fields["file"].name)
    if "qrels" not in fields:
        return trec.join_qrels(topics, {})
    where = fields["qrels"].name
    return trec.join_qrels(topics, trec.parse_qrels(_read_text(fields, "qrels"), where), where)


def _parse_beir(fields: Mapping[str, Any]) -> TopicCollection:
    queries, qrels = _read_text(fields, "file"), _read_text(fields, "qrels")
    return trec.parse_beir(queries, qrels, where=(fields["file"].name, fields["qrels"].name))


def _read_text(fields: Mapping[str, Any], field: str) -> str:
    if field not in fields:
        message = "This format has its judgements in a file of its own; send it, too."
        raise InvalidRequest(f"{field}: {message}", errors=[FieldError(field=field, message=message)])
    try:
        return str(fields[field].read().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        message = f"The file is not UTF-8 at byte {error.start}."
        raise InvalidRequest(
            f"{field}: {message}", errors=[FieldError(field=field, message=message)]
        ) from error


_WRITERS: Mapping[str, tuple[str, Callable[[TopicCollection], str]]] = {
    "golden": ("golden.yaml", golden.write_golden),
    "trec-topics": ("topics.tsv", lambda found: trec.write_topics(found.topics)),
    "trec-qrels": ("qrels.txt", lambda found: trec.write_qrels(found.topics)),
    "beir-queries": ("queries.jsonl", lambda found: trec.write_beir(found.topics)["queries.jsonl"]),
    "beir-qrels": ("test.tsv", lambda found: trec.write_beir(found.topics)["qrels/test.tsv"]),
}


def topics_response(found: TopicCollection, format_: str) -> HttpResponse:
    """Return a response with the topics as a file that `parse_collection` reads."""
    name, write = _WRITERS[format_]
    return text_file_response(name, write(found))


def text_file_response(name: str, text: str) -> HttpResponse:
    """Return a response that browsers save as a file called `name`."""
    return HttpResponse(
        text,
        content_type="text/plain; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


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
