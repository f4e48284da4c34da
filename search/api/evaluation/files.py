"""Parsers of topics sent as JSON or as files, and responses with topics as files."""

from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpResponse, QueryDict
from rest_framework.parsers import DataAndFiles
from rest_framework.request import Request

from kebab.errors import FieldError, InvalidRequest, TooLarge
from kebab.http.api.parsers import StrictMultiPartParser
from kebab.http.api.serializers import strict_body
from search.api.evaluation.serializers import NewTopics, TopicFile, build_topic
from search.evaluation.formats import beir_topics, golden, trec
from search.evaluation.judged import TopicCollection

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
    return beir_topics.parse_beir(queries, qrels, where=(fields["file"].name, fields["qrels"].name))


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
    "beir-queries": ("queries.jsonl", lambda found: beir_topics.write_beir(found.topics)["queries.jsonl"]),
    "beir-qrels": ("test.tsv", lambda found: beir_topics.write_beir(found.topics)["qrels/test.tsv"]),
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
