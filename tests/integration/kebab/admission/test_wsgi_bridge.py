"""The bridge from ASGI to the WSGI application: bodies in, whole answers out."""

import asyncio
import io
import threading

import pytest
from django.core.signals import request_finished
from django.db import connection

from kebab.http.admission import wsgi_bridge as bridge
from kebab.http.admission.wsgi_bridge import FileWrapper, UnreceivedBody, WsgiThreads, build_environ

pytestmark = pytest.mark.anyio
SCOPE = {
    "type": "http",
    "http_version": "1.1",
    "method": "POST",
    "path": "/w/käse",
    "query_string": b"q=%C3%A4",
    "scheme": "http",
    "server": ("127.0.0.1", 8000),
    "client": ("192.0.2.7", 50_000),
    "headers": [
        (b"host", b"kebab.example"),
        (b"content-type", b"text/plain"),
        (b"cookie", b"a=1"),
        (b"cookie", b"b=2"),
        (b"x-forwarded-for", b"192.0.2.1"),
        (b"x_forwarded_for", b"198.51.100.9"),
    ],
}


async def answer_of(app, body=b"", **more):
    return await WsgiThreads(app, threads=1).answer(build_environ(SCOPE, io.BytesIO(body)) | more)


class Streamed(list):
    """A streaming response of Django as a server sees it."""

    streaming = True
    is_closed = False

    def close(self):
        self.is_closed = True


async def messages_of(answer):
    """Return the messages that send an answer."""
    messages = []

    async def send(message):
        messages.append(message)

    await answer.send_to(send)
    return messages


async def test_request_is_passed_as_pep_3333_requires():
    passed = {}

    def app(environ, start_response):
        passed.update(environ, read=environ["wsgi.input"].read())
        start_response("204 No Content", [("X-A", " 1"), ("X-A", "2")])
        return [b""]

    answer = await answer_of(app, b"body", CONTENT_LENGTH="4")

    assert passed["read"] == b"body"
    assert (passed["REQUEST_METHOD"], passed["CONTENT_TYPE"], passed["CONTENT_LENGTH"]) == (
        "POST",
        "text/plain",
        "4",
    )
    assert (passed["PATH_INFO"].encode("latin-1").decode(), passed["QUERY_STRING"]) == ("/w/käse", "q=%C3%A4")
    assert (passed["REMOTE_ADDR"], passed["HTTP_COOKIE"]) == ("192.0.2.7", "a=1; b=2")
    assert passed["HTTP_X_FORWARDED_FOR"] == "192.0.2.1"  # not what a name with `_` says
    assert (answer.status, answer.headers) == (204, [(b"x-a", b"1"), (b"x-a", b"2")])


async def test_response_is_buffered_and_sent_in_pieces(monkeypatch):
    monkeypatch.setattr(bridge, "_PIECE_BYTES", 4)
    monkeypatch.setattr(bridge, "_IN_MEMORY_BYTES", 6)
    file = io.BytesIO(b"0123456789")
    bodies = {
        b"": [b""],
        b"012345": [b"012345"],
        b"0123456789": Streamed((b"0123", b"456", b"", b"789")),
    }
    for expected, pieces in [*bodies.items(), (b"0123456789", FileWrapper(file))]:
        messages = await messages_of(
            await answer_of(lambda e, start, pieces=pieces: start("200 OK", []) or pieces)
        )
        parts = [message["body"] for message in messages[1:]]
        assert b"".join(parts) == expected
        assert max(map(len, parts)) <= 4
        assert [message["more_body"] for message in messages[1:]] == [True] * (len(parts) - 1) + [False]
    assert file.closed and bodies[b"0123456789"].is_closed


async def test_view_reading_a_missing_body_is_abandoned_and_its_connections_closed():
    finished, left = [], []

    def note(**_):
        finished.append(threading.current_thread())

    def app(environ, start_response):
        try:
            environ["wsgi.input"].readline()
        except Exception:  # noqa: BLE001  # as a view may
            left.append("caught")
        finally:
            left.append("ended")

    request_finished.connect(note)
    try:
        assert await WsgiThreads(app, threads=1).answer(build_environ(SCOPE, UnreceivedBody())) is None
    finally:
        request_finished.disconnect(note)
    assert left == ["ended"]
    assert [thread.name for thread in finished] == ["WSGI_0"]


@pytest.mark.django_db(transaction=True)
def test_thread_returns_its_database_connection_before_sending_a_file(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"content")
    seen = []

    def app(environ, start_response):
        if environ["PATH_INFO"] != "/again":
            connection.ensure_connection()
        seen.append(connection.connection is not None)
        start_response("200 OK", [])
        return FileWrapper(file.open("rb"))

    async def ask():
        views = WsgiThreads(app, threads=1)
        for path in ("/", "/again"):
            answer = await views.answer(build_environ({**SCOPE, "path": path}, io.BytesIO()))
            assert b"".join(each.get("body", b"") for each in await messages_of(answer)) == b"content"

    asyncio.run(ask())
    assert seen == [True, False]
