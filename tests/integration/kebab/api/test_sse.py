import asyncio
import threading

import pytest

from kebab.http.api.sse import encode_event, event_stream
from kebab.runtime import draining

pytestmark = pytest.mark.anyio


async def test_events_are_streamed_without_caching():
    async def two():
        yield "progress", {"done": 1}
        yield "final", {"text": "a\nb"}

    response = event_stream(two())

    assert response.headers["Content-Type"] == "text/event-stream"
    assert "no-cache" in response.headers["Cache-Control"]
    assert response.headers["X-Accel-Buffering"] == "no"
    assert [line async for line in response.streaming_content] == [
        b'event: progress\ndata: {"done": 1}\n\n',
        b'event: final\ndata: {"text": "a\\nb"}\n\n',
    ]


async def test_silence_is_filled_with_comments_and_no_event_is_lost():
    go = asyncio.Event()

    async def silent_until_then():
        await go.wait()
        yield "final", {}

    stream = aiter(event_stream(silent_until_then(), heartbeat_s=0).streaming_content)
    comments = [await anext(stream), await anext(stream)]
    go.set()
    rest = [line async for line in stream]
    assert all(line.startswith(b":") for line in comments)
    assert rest[-1] == b"event: final\ndata: {}\n\n"


async def test_source_is_closed_when_the_client_leaves():
    closed = asyncio.Event()

    async def endless():
        try:
            while True:
                await asyncio.sleep(3600)
                yield "never", {}
        finally:
            closed.set()

    stream = aiter(event_stream(endless(), heartbeat_s=0).streaming_content)
    await anext(stream)
    await stream.aclose()
    async with asyncio.timeout(30):
        await closed.wait()


@pytest.mark.parametrize("lasts", [True, False])
async def test_stream_that_lasts_ends_with_the_process_and_another_is_finished(monkeypatch, lasts):
    monkeypatch.setattr(draining, "_streams_ending", threading.Event())
    go, closed = asyncio.Event(), asyncio.Event()

    async def waiting():
        try:
            yield "progress", {}
            await go.wait()
            yield "final", {}
        finally:
            closed.set()

    stream = aiter(event_stream(waiting(), lasts=lasts).streaming_content)
    first = await anext(stream)
    ending = asyncio.ensure_future(anext(stream, None))
    await asyncio.sleep(0)
    draining.end_streams()
    await asyncio.wait({ending}, timeout=0 if not lasts else 30)
    go.set()
    last = await ending
    assert (first, last) == (
        b"event: progress\ndata: {}\n\n",
        None if lasts else b"event: final\ndata: {}\n\n",
    )
    await stream.aclose()
    async with asyncio.timeout(30):
        await closed.wait()


def test_event_name_cannot_break_out_of_its_line():
    for name in ("", "a b", "a\nb", "data:"):
        with pytest.raises(ValueError, match="event name"):
            encode_event(name, {})
