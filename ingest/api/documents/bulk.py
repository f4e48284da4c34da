"""`/workspaces/{ws}/documents/bulk`: many documents in one request, each with its own result."""

import time
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
    WaitQuery,
    parse_text_upload,
)
from ingest.api.documents.views import CHANGE, accepted_body, submit_upload
from ingest.api.querysets import check_replay
from ingest.services.jobs import wait_until_searchable
from ingest.services.uploads import AcceptedUpload
from kebab.http.api.idempotency import idempotent
from kebab.http.api.openapi_schema import ProblemField
from kebab.http.api.problems import log_problem, problem_document
from kebab.http.api.serializers import ShortListField, StrictSerializer, strict_body, validate_fields
from kebab.http.api.views import WorkspaceView

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
    for result in body["results"]:
        if result["accepted"] is not None:
            check_replay(view, result["accepted"])


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
        """Upload documents as by a single upload each; activity shows them as one.

        The results are in their order: `accepted`, or the `problem` of one that was refused. With
        `wait_for=searchable` the answer waits until all are searchable, or takes too long to wait for.
        """
        documents = strict_body(request, NewTexts)["documents"]
        batches: dict[str, Any] = {}
        accepted = [self._submit(fields, batches) for fields in documents]
        limit_s = settings.KEBAB_WAIT_LIMIT_S if "wait_for" in self.query else 0.0
        deadline = time.monotonic() + limit_s
        return Response({"results": [self._result(each, deadline) for each in accepted]})

    def _submit(self, fields: Any, batches: dict[str, Any]) -> AcceptedUpload | Exception:
        """Accept a document as part of its source's upload, or return the error."""
        try:
            given = validate_fields(NewText, fields)
            if given["batch"] is None:
                given["batch"] = batches.get(given["source"])
            accepted = submit_upload(self.access, parse_text_upload(given))
            batches.setdefault(given["source"], accepted.job.pk)
        except Exception as error:  # noqa: BLE001 - a defect in one document must not fail the others
            return error
        return accepted

    def _result(self, accepted: AcceptedUpload | Exception, deadline: float) -> dict[str, Any]:
        try:
            if isinstance(accepted, Exception):
                raise accepted
            left_s = deadline - time.monotonic()
            ended = wait_until_searchable(accepted.job, limit_s=left_s) if left_s > 0 else None
            return {"accepted": accepted_body(self.access, accepted, ended), "problem": None}
        except Exception as error:  # noqa: BLE001 - as above
            return {"accepted": None, "problem": problem_document(log_problem(error, type(self).__name__))}
