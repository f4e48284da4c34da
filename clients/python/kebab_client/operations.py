"""The operations of the API that clients have as methods."""

import json
import time
import uuid
from collections.abc import Sequence
from typing import Any, Final, Unpack
from urllib.parse import quote

from kebab_client.errors import KebabError
from kebab_client.runners import Listing, Operation
from kebab_client.steps import Pages, Pause, Request, Steps, without_none
from kebab_client.types import (
    Accepted,
    Answer,
    AskOptions,
    BulkResult,
    Chunk,
    ContextOptions,
    ContextPack,
    Document,
    DocumentsOptions,
    Hit,
    Job,
    NewText,
    SearchOptions,
    SearchResponse,
    SeveralOptions,
    SeveralResponse,
    Suggestions,
    UploadOptions,
    Workspace,
)

_PAGE_ROWS: Final = 200
_BULK_DOCUMENTS: Final = 100
_FIRST_POLL_S: Final = 0.2
_MAX_POLL_S: Final = 3.0


class Operations:
    """The methods of both clients. A workspace is named by its slug or id; all of them raise KebabError."""

    @Operation
    def request(self, method: str, path: str, *, query: Any = None, json: Any = None) -> Steps[Any]:
        """Send any request below `/api/v1`, and return its JSON; only a GET is sent again after a failure."""
        is_repeatable = method.upper() == "GET"
        return _json(
            Request(method=method, path=path, query=query or {}, json=json, is_repeatable=is_repeatable)
        )

    @Listing
    def workspaces(self) -> Pages[Workspace]:
        """Yield the workspaces that the token may use."""
        return _list("/workspaces")

    @Operation
    def upload(
        self,
        workspace: str,
        path: str,
        content: str | bytes,
        *,
        wait: bool = False,
        **options: Unpack[UploadOptions],
    ) -> Steps[Accepted]:
        """Upload a document: text, or a file's bytes, whose kind the ending of `path` tells.

        A document with this path is replaced. With `wait` it is found by searches when the method returns.
        """
        place, key = _place(workspace, "documents"), uuid.uuid4().hex
        query = {"wait_for": "searchable"} if wait else {}
        stated: dict[str, Any] = {**options, "path": path}
        if isinstance(content, str):
            body = {**without_none(stated), "text": content}
            sent = Request(method="POST", path=place, query=query, json=body, idempotency_key=key)
        else:
            if "metadata" in stated:
                stated["metadata"] = json.dumps(stated["metadata"])
            file = (path.rsplit("/", 1)[-1], content)
            sent = Request(
                method="POST", path=f"{place}/file", query=query, form=stated, file=file, idempotency_key=key
            )
        accepted: Accepted = yield from _json(sent)
        if wait and accepted["seq"] is None:
            accepted["job"] = yield from _ended_job(workspace, accepted["job"]["id"], None)
            accepted["seq"], accepted["seq_token"] = accepted["job"]["seq"], accepted["job"].get("seq_token")
        return accepted

    @Operation
    def upload_many(self, workspace: str, documents: Sequence[NewText]) -> Steps[list[BulkResult]]:
        """Upload texts, 100 a request. A document that is refused has a `problem` in place of `accepted`."""
        results: list[BulkResult] = []
        for first in range(0, len(documents), _BULK_DOCUMENTS):
            body = {"documents": list(documents[first : first + _BULK_DOCUMENTS])}
            path, key = _place(workspace, "documents", "bulk"), uuid.uuid4().hex
            answer = yield from _json(Request(method="POST", path=path, json=body, idempotency_key=key))
            results += answer["results"]
        return results

    @Operation
    def wait_for_job(self, workspace: str, job_id: str, *, timeout_s: float | None = None) -> Steps[Job]:
        """Return the job once it has succeeded. Raises KebabError (`job_failed`, `job_timeout`) otherwise."""
        return _ended_job(workspace, job_id, timeout_s)

    @Operation
    def search(self, workspace: str, q: str, **options: Unpack[SearchOptions]) -> Steps[SearchResponse]:
        """Search a workspace; its `next_cursor` leads to `search_page`."""
        return _json(_reading(_place(workspace, "search"), {**options, "q": q}))

    @Operation
    def search_page(self, workspace: str, cursor: str, *, k: int | None = None) -> Steps[SearchResponse]:
        """Return the page behind a cursor."""
        return _json(_reading(_place(workspace, "search"), {"cursor": cursor, "k": k}))

    @Listing
    def search_hits(self, workspace: str, q: str, **options: Unpack[SearchOptions]) -> Pages[Hit]:
        """Yield the hits of all pages; `k` is the size of a page."""

        def fetch(cursor: str | None) -> Steps[tuple[list[Hit], str | None]]:
            size = {"k": options["k"]} if "k" in options else {}
            body = {**options, "q": q} if cursor is None else {**size, "cursor": cursor}
            page: SearchResponse = yield from _json(_reading(_place(workspace, "search"), body))
            return page["hits"], page["next_cursor"]

        return fetch

    @Operation
    def search_several(self, q: str, **options: Unpack[SeveralOptions]) -> Steps[SeveralResponse]:
        """Search several workspaces at once: `workspaces`, or all that the token may search."""
        return _json(_reading("/search", {**options, "q": q}))

    @Operation
    def suggest(self, workspace: str, q: str, *, limit: int | None = None) -> Steps[Suggestions]:
        """Suggest titles, headings and words for a query that is being typed."""
        return _json(_get(_place(workspace, "suggest"), q=q, limit=limit))

    @Operation
    def ask(self, workspace: str, question: str, **options: Unpack[AskOptions]) -> Steps[Answer]:
        """Return an answer from the documents, with citations; its `state` says what it is worth."""
        body, key = {**options, "question": question}, uuid.uuid4().hex
        return _json(Request(method="POST", path=_place(workspace, "ask"), json=body, idempotency_key=key))

    @Operation
    def context_pack(
        self, workspace: str, information_request: str, **options: Unpack[ContextOptions]
    ) -> Steps[ContextPack]:
        """Return passages for a request, with their surroundings, packed into a budget."""
        body = {**options, "information_request": information_request}
        return _json(_reading(_place(workspace, "context-pack"), body))

    @Listing
    def documents(self, workspace: str, **options: Unpack[DocumentsOptions]) -> Pages[Document]:
        """Yield the documents of a workspace."""
        return _list(_place(workspace, "documents"), **options)

    @Operation
    def document(self, workspace: str, doc_id: str) -> Steps[Document]:
        """Return a document without its text."""
        return _json(_get(_place(workspace, "documents", doc_id)))

    @Operation
    def content(self, workspace: str, doc_id: str) -> Steps[bytes]:
        """Return the original file of a document."""
        response = yield _get(_place(workspace, "documents", doc_id, "content"))
        content: bytes = response.content
        return content

    @Operation
    def delete_document(self, workspace: str, doc_id: str) -> Steps[None]:
        """Delete an uploaded document."""
        path = _place(workspace, "documents", doc_id)
        # Sent again after it has come through, it would report a missing document.
        yield Request(method="DELETE", path=path, is_repeatable=False)

    @Listing
    def chunks(self, workspace: str, doc_id: str) -> Pages[Chunk]:
        """Yield the passages of a document in their order."""
        return _list(_place(workspace, "documents", doc_id, "chunks"))


def _place(workspace: str, *parts: str) -> str:
    return "/".join(("/workspaces", *(quote(part, safe="") for part in (workspace, *parts))))


def _get(path: str, /, **query: Any) -> Request:
    return Request(method="GET", path=path, query=query)


def _reading(path: str, body: Any) -> Request:
    """Return a POST that changes nothing."""
    return Request(method="POST", path=path, json=without_none(body))


def _json(request: Request) -> Steps[Any]:
    response = yield request
    if not response.content:
        return None
    try:
        return response.json()
    except ValueError as error:
        raise KebabError("The answer is not JSON; is this Kebab's address?", code="no_json") from error


def _list(path: str, /, **query: Any) -> Pages[Any]:
    def fetch(cursor: str | None) -> Steps[tuple[list[Any], str | None]]:
        page = yield from _json(_get(path, limit=_PAGE_ROWS, cursor=cursor, **query))
        return page["results"], page["next_cursor"]

    return fetch


def _ended_job(workspace: str, job_id: str, timeout_s: float | None) -> Steps[Job]:
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    pause_s = _FIRST_POLL_S
    while True:
        job: Job = yield from _json(_get(_place(workspace, "jobs", job_id)))
        if job["state"] == "succeeded":
            return job
        if job["state"] in ("failed", "cancelled"):
            raise KebabError(job["error"] or f"The job was {job['state']}.", code="job_failed")
        if deadline is not None and time.monotonic() + pause_s > deadline:
            raise KebabError(f"Job {job_id} is still {job['state']} after {timeout_s} s.", code="job_timeout")
        yield Pause(seconds=pause_s)
        pause_s = min(pause_s * 1.5, _MAX_POLL_S)
