"""`/workspaces/{ws}/documents/bulk`: many documents in one request, each with its own result."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from django.conf import settings
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from ingest.api.documents.serializers import (
    FORM_OVERHEAD_BYTES,
    AcceptedSerializer,
    NewText,
    PlacedDocumentSerializer,
    WaitQuery,
    parse_text_upload,
)
from ingest.api.documents.views import CHANGE, job_body
from ingest.api.querysets import check_replay
from ingest.models import Job
from ingest.services.jobs import refusals_of, wait_until_searchable
from ingest.services.uploads import AcceptedUpload, Upload, accept_uploads
from kebab.http.api.idempotency import idempotent
from kebab.http.api.openapi_schema import ProblemField
from kebab.http.api.problems import log_problem, problem_document
from kebab.http.api.serializers import ShortListField, StrictSerializer, strict_body, validate_fields
from kebab.http.api.views import WorkspaceView
from search.corpus.paths import normalise_path

MAX_DOCUMENTS = 100


class _UncheckedDocument(serializers.JSONField):
    pass


class NewTexts(StrictSerializer):
    """The body of a bulk; each document is the body of an upload, validated just before it is accepted."""

    documents = ShortListField(
        child=_UncheckedDocument(allow_null=True), min_length=1, max_length=MAX_DOCUMENTS
    )


def _check_replay(view: Any, body: Any) -> None:
    """Raise NotFound if the caller may no longer see one of the documents."""
    accepted = [result["accepted"] for result in body["results"] if result["accepted"] is not None]
    for one_of_job in {each["job"]["id"]: each for each in accepted}.values():
        check_replay(view, one_of_job)


class BulkDocumentsView(WorkspaceView):
    """Up to 100 documents; an error in one doesn't affect the others."""

    required: ClassVar = {"POST": CHANGE}
    queries: ClassVar = {"POST": WaitQuery}

    @property
    def body_limit_bytes(self) -> int:  # type: ignore[override]  # the limit is a setting
        """Return the size limit of a body, that of a single document."""
        return settings.KEBAB_UPLOAD_LIMIT_BYTES + FORM_OVERHEAD_BYTES

    @extend_schema(
        request=inline_serializer("BulkDocuments", {"documents": NewText(many=True)}),
        responses=inline_serializer(
            "BulkDocumentsResult",
            {
                "results": inline_serializer(
                    "BulkDocumentResult",
                    {
                        "accepted": AcceptedSerializer(allow_null=True),
                        "problem": ProblemField(allow_null=True),
                    },
                    many=True,
                )
            },
        ),
    )
    @idempotent(recheck=_check_replay)
    def post(self, request: Request, ws: str) -> Response:
        """Upload documents as by a single upload each, in one job for those of a version of a source.

        The results are in their order: `accepted`, or the `problem` of one that was refused. With
        `wait_for=searchable` the answer waits until all are searchable, or takes too long to wait for.
        """
        documents = strict_body(request, NewTexts)["documents"]
        access = self.access
        accepted = accept_uploads(
            access.workspace, list(map(_parse, documents)), reader=access.reader, requested_by=access.actor
        )
        limit_s = settings.KEBAB_WAIT_LIMIT_S if "wait_for" in self.query else 0.0
        deadline = time.monotonic() + limit_s
        jobs = {each.job.pk: each.job for each in accepted if isinstance(each, AcceptedUpload)}
        answers = {pk: self._answer(job, deadline) for pk, job in jobs.items()}
        places: Any = [each.place for each in accepted if isinstance(each, AcceptedUpload)]
        documents = iter(PlacedDocumentSerializer(places, many=True).data)
        results = [
            _result(answers[each.job.pk], next(documents)) if isinstance(each, AcceptedUpload) else each
            for each in accepted
        ]
        return Response({"results": list(map(self._show, results))})

    def _answer(self, job: Job, deadline: float) -> "_Answer | Exception":
        """Return what tells of a job whose documents shall be searchable by then, or an error."""
        try:
            left_s = deadline - time.monotonic()
            ended = wait_until_searchable(job, limit_s=left_s) if left_s > 0 else None
            refusals = {} if ended is None else refusals_of(ended)
            return _Answer(body=job_body(self.access, job, ended), refusals=refusals)
        except Exception as error:  # noqa: BLE001  # a defect in one job must not fail the others
            return error

    def _show(self, result: Mapping[str, Any] | Exception) -> dict[str, Any]:
        if not isinstance(result, Exception):
            return {"accepted": result, "problem": None}
        return {"accepted": None, "problem": problem_document(log_problem(result, type(self).__name__))}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """The part of a body that tells of a job, and the errors of documents that it refused, by path."""

    body: Mapping[str, Any]
    refusals: Mapping[str, Exception]


def _result(answer: _Answer | Exception, document: Mapping[str, Any]) -> Mapping[str, Any] | Exception:
    """Return the body that tells of a document and its job, or the error."""
    if isinstance(answer, Exception):
        return answer
    return answer.refusals.get(document["path"]) or {"document": document, **answer.body}


def _parse(fields: Any) -> Upload | Exception:
    """Return the upload of a document, or the error in its fields."""
    try:
        upload = parse_text_upload(validate_fields(NewText, fields))
        return replace(upload, path=normalise_path(upload.path))
    except Exception as error:  # noqa: BLE001  # a defect in one document must not fail the others
        return error
