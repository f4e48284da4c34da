"""Files of OpenAI's interface: the documents of a workspace, and uploads that have not become one."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any, Final

from django.db.models import BooleanField, Count, Exists, ExpressionWrapper, F, OuterRef, Q, Sum, UUIDField
from django.db.models.fields.json import KT
from django.db.models.functions import Cast

from ingest.api.querysets import readable_jobs
from ingest.jobs.queue.report import refused_items
from ingest.models import OPEN_STATES, Job, JobKind, JobState
from kebab.errors import NotFound
from kebab.identity.caller import Access
from kebab.uuids import parse_uuid
from search.access.restrictions import visible_documents
from search.api.adapters.openai import FILE
from search.api.querysets import readable_documents
from search.models import Document

#: States of files that a list may be narrowed to.
STATUSES: Final = ("in_progress", "completed", "failed", "cancelled")
_UNSUPPORTED: Final = frozenset({"closed_format", "no_parser", "old_format", "wrong_type"})
_PUBLISHED: Final = Q(state=JobState.SUCCEEDED, refused_items=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A file: its document, or the job that makes one or failed to."""

    id: str
    document: Document | None
    job: Job | None

    @property
    def status(self) -> str:
        """Return `completed`, `in_progress` or `failed`."""
        if self.job is not None and self.job.state in OPEN_STATES:
            return "in_progress"
        return "completed" if self.document is not None else "failed"

    @property
    def doc_id(self) -> uuid.UUID:
        """Return the id that the document has, or will have."""
        return uuid.UUID(hex=self.id.removeprefix(FILE))

    @property
    def name(self) -> str:
        """Return the path of the document."""
        return self.document.path if self.document is not None else self._any_job.payload["path"]

    @property
    def at(self) -> datetime:
        """Return the time of the upload, or of the document's last change."""
        return self.document.indexed_at if self.document is not None else self._any_job.created_at

    @property
    def created_at(self) -> int:
        """Return this time in seconds since 1970."""
        return int(self.at.timestamp())

    @property
    def _any_job(self) -> Job:
        if self.job is None:
            raise ValueError("a file has a document or a job")
        return self.job

    @property
    def error(self) -> dict[str, str] | None:
        """Return why there is no document."""
        if self.status != "failed" or self.job is None:
            return None
        refused = refused_items(self.job).first()
        if refused is None:
            return {"code": "server_error", "message": self.job.error or f"The job {self.job.state}."}
        code = "unsupported_file" if refused.reason in _UNSUPPORTED else "invalid_file"
        return {"code": code, "message": f"{refused.reason}: {refused.detail}"}


def find_file(access: Access, file_id: str) -> StoredFile:
    """Return the file with this id. Raises NotFound."""
    doc_id = parse_uuid(file_id.removeprefix(FILE))
    found = {} if doc_id is None else find_files(access, [doc_id])
    if doc_id is None or doc_id not in found:
        raise NotFound(f"There is no file {file_id[:80]!r}.")
    return found[doc_id]


def find_files(access: Access, doc_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, StoredFile]:
    """Return the files with these ids, in this order."""
    documents = readable_documents(access.workspace, access.reader).filter(doc_id__in=doc_ids)
    by_id: dict[uuid.UUID, Document] = {document.doc_id: document for document in documents}
    jobs = {}
    for job in _latest(uploads(access).filter(file__in=[doc_id.hex for doc_id in doc_ids])):
        doc_id = uuid.UUID(hex=job.file)
        is_failed = (
            doc_id not in by_id
            and not job.cancel_requested
            and not (job.state == JobState.SUCCEEDED and not refused_items(job).exists())
        )
        if job.is_open or is_failed:
            jobs[doc_id] = job
    return {
        doc_id: StoredFile(id=f"{FILE}{doc_id.hex}", document=by_id.get(doc_id), job=jobs.get(doc_id))
        for doc_id in doc_ids
        if doc_id in by_id or doc_id in jobs
    }


def list_files(
    access: Access, query: Mapping[str, Any], status: str | None = None
) -> tuple[list[StoredFile], bool]:
    """Return a page of the files in an order by time, and whether there is more in its direction.

    `query` has a limit, an order, and the ids that the page is `after` or `before`. Raises NotFound.
    """
    is_ascending = query["order"] == "asc"
    # A page before a file ends next to it.
    is_backward = "before" in query and "after" not in query
    beyond = Q()
    if "after" in query:
        beyond &= _beyond(find_file(access, query["after"]), "gt" if is_ascending else "lt")
    if "before" in query:
        beyond &= _beyond(find_file(access, query["before"]), "lt" if is_ascending else "gt")
    sign = "" if is_ascending is not is_backward else "-"
    rows = sorted(
        chain.from_iterable(
            files.filter(beyond)
            .order_by(f"{sign}at", f"{sign}file")
            .values_list("at", "file")[: query["limit"] + 1]
            for files in (_documents(access, status), _unpublished(access, status))
        ),
        reverse=sign == "-",
    )
    page = [uuid.UUID(hex=file) for _, file in rows[: query["limit"]]]
    found = find_files(access, page[::-1] if is_backward else page)
    return list(found.values()), len(rows) > query["limit"]


def count_files(access: Access) -> dict[str, int]:
    """Return the number of files by status, and the bytes of the documents among them."""
    is_open = Q(file__in=_open(access).values("file"))
    documents = _documents(access, None).aggregate(
        total=Count("pk"), open=Count("pk", filter=is_open), size_bytes=Sum("size_bytes")
    )
    waiting = _unpublished(access, None).aggregate(
        total=Count("pk"), open=Count("pk", filter=Q(is_open=True))
    )
    return {
        "in_progress": documents["open"] + waiting["open"],
        "completed": documents["total"] - documents["open"],
        "failed": waiting["total"] - waiting["open"],
        "cancelled": 0,
        "total": documents["total"] + waiting["total"],
        "size_bytes": documents["size_bytes"] or 0,
    }


def uploads(access: Access) -> Any:
    """Return the queryset of the uploads of single documents, each with the hex digits of its `file`."""
    jobs = readable_jobs(access).filter(
        kind=JobKind.INGEST_DOCUMENT, source__isnull=False, payload__has_key="doc_id"
    )
    is_open = Q(state__in=OPEN_STATES, cancel_requested=False)
    return jobs.annotate(
        at=F("created_at"),
        file=KT("payload__doc_id"),
        is_open=ExpressionWrapper(is_open, output_field=BooleanField()),
    )


def _open(access: Access) -> Any:
    return uploads(access).filter(is_open=True)


def _latest(jobs: Any) -> Any:
    """Return the queryset of the last upload of each file, open ones first."""
    named = "payload__doc_id"
    return jobs.order_by(named, "-is_open", "-created_at", "id").distinct(named)


def _documents(access: Access, status: str | None) -> Any:
    """Return the queryset of the documents in a state, each with its time and `file`."""
    found = visible_documents(access.workspace, access.reader)
    found = found.annotate(at=F("indexed_at"), file=F("doc_id__hex"))
    is_open = Q(file__in=_open(access).values("file"))
    narrowed = {None: Q(), "completed": ~is_open, "in_progress": is_open}
    return found.filter(narrowed[status]) if status in narrowed else found.none()


def _unpublished(access: Access, status: str | None) -> Any:
    """Return the queryset of the uploads in a state that are not a document, one for each file."""
    latest = _latest(uploads(access).exclude(_PUBLISHED).exclude(cancel_requested=True)).values("pk")
    document = Document.objects.in_workspace(access.workspace).filter(
        doc_id=Cast(OuterRef("file"), UUIDField())
    )
    found = uploads(access).filter(~Exists(document), pk__in=latest)
    narrowed = {None: Q(), "failed": Q(is_open=False), "in_progress": Q(is_open=True)}
    return found.filter(narrowed[status]) if status in narrowed else found.none()


def _beyond(file: StoredFile, side: str) -> Q:
    digits = file.id.removeprefix(FILE)
    return Q(**{f"at__{side}": file.at}) | Q(at=file.at, **{f"file__{side}": digits})
