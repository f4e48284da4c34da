"""The methods of both clients against a transport that answers as the API does."""

import asyncio
import inspect
import json

import anyio
import httpx
import pytest

from kebab_client import AsyncClient, Client, KebabError

TOKEN = "kbb_a_b"


def problem(status, code="busy", **fields):
    """Return a problem of the API."""
    headers = {"Retry-After": fields.pop("retry_after")} if "retry_after" in fields else {}
    return httpx.Response(status, json={"code": code, "detail": "Wait.", **fields}, headers=headers)


def page(rows, cursor):
    return httpx.Response(200, json={"results": rows, "next_cursor": cursor})


def job(state, **fields):
    return httpx.Response(200, json={"id": "j", "state": state, "error": None, "seq": None, **fields})


class Server:
    """A server with answers in a fixed order, which notes requests, and the pauses of the client."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []
        self.pauses = []

    def __call__(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def bodies(self):
        return [json.loads(request.content) for request in self.requests]

    def idempotency_keys(self):
        return {request.headers.get("Idempotency-Key") for request in self.requests}


@pytest.fixture(params=["sync", "async"])
def call(request, monkeypatch):
    """Return a function that calls a method of either client on a server, and returns its result or rows."""

    def call_sync(server, name, *args, **options):
        monkeypatch.setattr("kebab_client.runners.time.sleep", server.pauses.append)
        with Client("https://kebab.test/", TOKEN, transport=httpx.MockTransport(server)) as client:
            result = getattr(client, name)(*args, **options)
            return list(result) if inspect.isgenerator(result) else result

    async def call_async(server, name, *args, **options):
        async def note_pause(seconds):
            server.pauses.append(seconds)

        monkeypatch.setattr(anyio, "sleep", note_pause)
        async with AsyncClient("https://kebab.test/", TOKEN, transport=httpx.MockTransport(server)) as client:
            result = getattr(client, name)(*args, **options)
            return [row async for row in result] if inspect.isasyncgen(result) else await result

    if request.param == "sync":
        return call_sync
    return lambda *args, **options: asyncio.run(call_async(*args, **options))


def test_search_sends_its_options_with_the_token(call):
    server = Server(httpx.Response(200, json={"hits": []}))
    assert call(server, "search", "w/1", "annual leave", k=3, filters={"lang": ["en"]}) == {"hits": []}
    [request] = server.requests
    assert str(request.url) == "https://kebab.test/api/v1/workspaces/w%2F1/search"
    assert request.headers["Authorization"] == f"Bearer {TOKEN}"
    assert server.bodies() == [{"q": "annual leave", "k": 3, "filters": {"lang": ["en"]}}]


def test_hits_of_all_pages_follow_the_cursors(call):
    pages = [{"hits": [{"rank": 1}], "next_cursor": "c"}, {"hits": [{"rank": 2}], "next_cursor": None}]
    server = Server(*(httpx.Response(200, json=each) for each in pages))
    assert call(server, "search_hits", "w", "leave", k=1, mode="lexical") == [{"rank": 1}, {"rank": 2}]
    assert server.bodies() == [{"q": "leave", "k": 1, "mode": "lexical"}, {"cursor": "c", "k": 1}]


def test_list_yields_the_rows_of_all_pages_with_its_filters(call):
    server = Server(page([1], "c"), page([2], None))
    assert call(server, "documents", "w", source=["a", "b"], path="p") == [1, 2]
    first, second = (request.url.params for request in server.requests)
    assert (first.get_list("source"), first["path"], "cursor" in first) == (["a", "b"], "p", False)
    assert second["cursor"] == "c"


def test_text_is_uploaded_as_json_and_bytes_as_a_form(call):
    accepted = httpx.Response(202, json={"document": None, "job": {"id": "j"}, "seq": None})
    server = Server(accepted, accepted)
    call(server, "upload", "w", "a.md", "Leave", tags=["x"])
    call(server, "upload", "w", "b/c.pdf", b"%PDF", tags=["x", "y"], metadata={"n": 1})
    text, form = server.requests
    assert json.loads(text.content) == {"path": "a.md", "text": "Leave", "tags": ["x"]}
    assert form.url.path.endswith("/documents/file")
    names = [line.split(b'name="')[1] for line in form.content.splitlines() if b"form-data" in line]
    assert [name.split(b'"')[0] for name in names] == [b"tags", b"tags", b"metadata", b"path", b"file"]
    assert b'filename="c.pdf"' in form.content and b'{"n": 1}' in form.content
    assert len(server.idempotency_keys()) == 2


def test_upload_waits_for_its_job_when_the_server_does_not(call):
    accepted = httpx.Response(202, json={"document": None, "job": {"id": "j"}, "seq": None})
    server = Server(accepted, job("running"), job("succeeded", seq=7))
    assert call(server, "upload", "w", "a.md", "Leave", wait=True)["seq"] == 7
    assert server.requests[0].url.params["wait_for"] == "searchable"


def test_bulk_sends_a_hundred_documents_at_a_time(call):
    server = Server(*(httpx.Response(200, json={"results": [{}] * n}) for n in (100, 50)))
    documents = [{"path": f"{n}.md", "text": "x"} for n in range(150)]
    assert len(call(server, "upload_many", "w", documents)) == 150
    assert [len(body["documents"]) for body in server.bodies()] == [100, 50]
    assert len(server.idempotency_keys()) == 2


def test_upload_is_repeated_under_the_same_key(call):
    server = Server(httpx.ConnectError("away"), problem(503), httpx.Response(202, json={"seq": 1}))
    assert call(server, "upload", "w", "a.md", "Leave") == {"seq": 1}
    assert len(server.requests) == 3
    [key] = server.idempotency_keys()
    assert key is not None


def test_client_waits_for_retry_after_when_rate_limited(call):
    server = Server(problem(429, retry_after="7"), page([], None))
    call(server, "workspaces")
    assert server.pauses == [7.0]


@pytest.mark.parametrize(
    ("answers", "name", "args"),
    [
        ([{"status": 400}], "workspaces", ()),
        ([{"status": 500}], "workspaces", ()),
        ([{"status": 429, "retry_after": "3600"}], "workspaces", ()),
        ([{"status": 503}], "delete_document", ("w", "d")),
        ([{"status": 503}], "request", ("POST", "/workspaces/w/feedback")),
        ([{"status": 503}] * 4, "workspaces", ()),
        ([None] * 4, "workspaces", ()),
    ],
)
def test_client_gives_up_after_its_attempts(call, answers, name, args):
    lost = httpx.ReadTimeout("slow")
    server = Server(*(lost if each is None else problem(**each) for each in answers))
    with pytest.raises(KebabError):
        call(server, name, *args)
    assert server.answers == []


def test_error_has_status_code_message_and_fields_of_the_problem(call):
    errors = [{"field": "k", "message": "At most 1000."}]
    server = Server(problem(400, "invalid_request", errors=errors))
    with pytest.raises(KebabError, match="Wait") as raised:
        call(server, "search", "w", "leave", k=2_000)
    error = raised.value
    assert (error.status, error.code, error.message) == (400, "invalid_request", "Wait.")
    assert (error.fields, error.retry_after_s) == ({"k": "At most 1000."}, None)


def test_answer_that_is_not_json_is_an_error(call):
    for answer, status, code in (
        (httpx.Response(502, text="<html>"), 502, "http_error"),
        (httpx.Response(200, text="<html>"), None, "no_json"),
    ):
        with pytest.raises(KebabError) as raised:
            call(Server(answer), "suggest", "w", "le")
        assert (raised.value.status, raised.value.code) == (status, code)


def test_waiting_for_a_job_polls_at_rising_intervals(call):
    server = Server(job("queued"), job("running"), job("succeeded", seq=3))
    assert call(server, "wait_for_job", "w", "j")["seq"] == 3
    assert server.pauses == sorted(set(server.pauses))


def test_job_that_fails_or_takes_too_long_is_an_error(call):
    for answer, timeout_s, code, message in (
        (job("failed", error="No text."), None, "job_failed", "No text."),
        (job("cancelled"), None, "job_failed", "The job was cancelled."),
        (job("running"), 0, "job_timeout", "Job j is still running after 0 s."),
    ):
        with pytest.raises(KebabError) as raised:
            call(Server(answer), "wait_for_job", "w", "j", timeout_s=timeout_s)
        assert (raised.value.code, raised.value.message) == (code, message)
