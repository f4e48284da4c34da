"""Answers as a stream of events, over the ASGI application that serves them."""

import asyncio
import json

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient

from kebab.application import takes_long
from kebab.identity.models import Group
from kebab.identity.tokens import mint_token
from kebab.people.token_lifecycle import mark_revoked
from search.api.answers import views
from search.models import KeptAnswer, Source
from tests.integration.search.answers.stub import drips, hangs, in_turn, replies, says, thinks
from tests.support.actors import make_workspace
from tests.support.corpus import restrict, write
from tests.support.loops import run
from tests.support.schemas import validate
from tests.support.search import embed, sync

pytestmark = pytest.mark.django_db(transaction=True)
_PATIENCE_S = 20
QUESTION = "Which word opens the vault?"


@pytest.fixture(autouse=True)
def _looks_each_time(monkeypatch):
    monkeypatch.setattr(views, "_RECHECK_S", 0.0)


@pytest.fixture
def vault(transactional_db):
    workspace = make_workspace()
    write(workspace, "vault.md", "The word velmoor opens the vault.")
    sync(workspace)
    embed(workspace)
    workspace.refresh_from_db()
    return workspace


@pytest.fixture
def token(vault):
    return mint_token(vault, scopes=["ask"])


def parse(line):
    name, text = line.decode().rstrip("\n").split("\n")
    return name.removeprefix("event: "), json.loads(text.removeprefix("data: "))


async def read(response, seen, step=None, after=1):
    async for line in response.streaming_content:
        seen.append(parse(line))
        if step is not None and len(seen) == after:
            await sync_to_async(step)()


async def watch(workspace, secret, *, leave_after=None, asked=(), **reading):
    """Ask with these fields; read to the end, or leave after so many events."""
    response = await AsyncClient().post(
        f"/api/v1/workspaces/{workspace.slug}/ask",
        {"question": QUESTION, **dict(asked)},
        content_type="application/json",
        headers={"Authorization": f"Bearer {secret}", "Accept": "text/event-stream"},
    )
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "text/event-stream"
    seen = []
    async with asyncio.timeout(_PATIENCE_S):
        if leave_after is None:
            await read(response, seen, **reading)
        else:
            await _leave(response, seen, leave_after)
    return seen


async def _leave(response, seen, leave_after):
    """Stop reading as a server does whose client has disconnected."""
    reading = asyncio.ensure_future(read(response, seen))
    while len(seen) < leave_after:
        await asyncio.sleep(0.01)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    await response.streaming_content.aclose()


def test_events_are_hits_then_text_then_the_answer(vault, token, use):
    use(says("It is ", "velmoor [", "#1]."))
    seen = run(watch(vault, token[1]))
    names = [name for name, _ in seen]

    assert names[0] == "retrieval"
    assert names[-1] == "final"
    assert set(names[1:-1]) == {"token"}
    assert "".join(fields["text"] for name, fields in seen if name == "token") == "It is velmoor [#1]."
    answer = seen[-1][1]
    validate("answer.v1", answer)
    assert (answer["state"], answer["text"]) == ("grounded", "It is velmoor [#1].")
    assert seen[0][1] == {"conversation_id": answer["conversation_id"], "hits": answer["hits"]}
    assert str(KeptAnswer.objects.get().pk) == answer["answer_id"]


def test_extractive_and_failed_answers_are_streams_too(vault, token, use):
    seen = run(watch(vault, token[1]))
    assert [name for name, _ in seen] == ["retrieval", "token", "final"]
    assert seen[-1][1]["state"] == "extractive"
    use(replies({}, status=429))
    seen = run(watch(vault, token[1]))
    assert [name for name, _ in seen] == ["retrieval", "final"]
    assert (seen[-1][1]["state"], seen[-1][1]["reason"]) == ("failed", "rate_limited")


@pytest.mark.parametrize(("behaviour", "events"), [(drips, 3), (hangs, 1), (thinks, 1)])
def test_model_is_stopped_when_the_client_leaves(vault, token, use, behaviour, events):
    stub = use(behaviour)
    seen = run(watch(vault, token[1], leave_after=events))

    assert len(seen) >= events
    kept = KeptAnswer.objects.get()
    assert (kept.state, kept.reason) == ("failed", "stopped")
    if behaviour is not hangs:
        assert stub.was_left.wait(_PATIENCE_S)


def _revoke(vault, token):
    return lambda: mark_revoked(token[0])


def _restrict(vault, token):
    def remove():
        restrict(Source.objects.get(key="docs"), Group.objects.create(workspace=vault, name="crew"))

    return remove


def assert_it_ended(seen):
    """Assert that the stream stopped before its last event, at most one token late."""
    names = [name for name, _ in seen]
    assert names[:2] == ["retrieval", "token"]
    assert len(names) <= 3
    assert "final" not in names


@pytest.mark.parametrize("remove", [_revoke, _restrict])
def test_stream_ends_with_the_right_to_read_it(vault, token, use, remove):
    use(drips, limit_s=10)
    assert_it_ended(run(watch(vault, token[1], step=remove(vault, token), after=2)))


def test_stream_ends_when_access_to_the_conversation_is_lost(vault, token, use):
    write(vault, "garden.md", "The word melgrove opens the garden gate.", source="garden")
    sync(vault)
    embed(vault)
    use(in_turn([says("It is velmoor [#1]."), drips]), limit_s=10)
    before = run(watch(vault, token[1], asked={"filters": {"source": ["docs"]}}))[-1][1]
    asked = {
        "question": "Which word opens the garden gate?",
        "conversation_id": before["conversation_id"],
        "filters": {"source": ["garden"]},
    }
    seen = run(watch(vault, token[1], asked=asked, step=_restrict(vault, token), after=2))

    assert before["state"] == "grounded"
    assert {hit["source"] for hit in seen[0][1]["hits"]} == {"garden"}
    assert_it_ended(seen)


def test_invalid_question_is_refused_without_a_stream(vault, token):
    async def ask():
        return await AsyncClient().post(
            f"/api/v1/workspaces/{vault.slug}/ask",
            {"question": QUESTION, "filters": {"path_glob": ["["]}},
            content_type="application/json",
            headers={"Authorization": f"Bearer {token[1]}", "Accept": "text/event-stream"},
        )

    response = run(ask())
    assert response.status_code == 400
    assert response.headers["Content-Type"] == "application/problem+json"


def test_requests_that_take_long_hold_no_thread_of_the_views(subtests):
    ask, events, chunked = "/api/v1/workspaces/w/ask", "/api/v1/workspaces/w/jobs/1/events", b"chunked"
    for path, headers, does in [
        (ask, {}, True),
        (ask, {b"content-length": b"1000000"}, True),
        (ask, {b"content-length": b"1000001"}, False),
        (ask, {b"content-length": b"10000000"}, False),
        (ask, {b"content-length": b"-1"}, False),
        (ask, {b"transfer-encoding": chunked}, False),
        (events, {}, True),
        (events, {b"transfer-encoding": chunked}, False),
        ("/api/v1/workspaces/w/answers", {}, False),
        ("/api/v1/workspaces/w/search", {}, False),
        (f"{ask}/x", {}, False),
        ("/w/w/ask", {}, True),
        ("/w/w/search", {}, False),
    ]:
        with subtests.test(path=path, headers=headers):
            assert takes_long({"path": path, "headers": list(headers.items())}) is does
