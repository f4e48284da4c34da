"""Progress of a job as an event stream, over the ASGI application."""

import asyncio
import json

import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError
from django.test import AsyncClient, Client
from django.utils import timezone

from ingest.api.jobs import views
from ingest.models import Job, JobState
from kebab.identity.models import Membership, Role
from kebab.identity.tokens import mint_token
from kebab.people.operator import command_line_access
from kebab.people.token_lifecycle import mark_revoked
from kebab.people.workspaces import delete_workspace
from search.corpus import ensure_source
from tests.support.actors import make_member
from tests.support.api import address
from tests.support.loops import run
from tests.support.schemas import validate

pytestmark = pytest.mark.django_db(transaction=True)
_PATIENCE_S = 20


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(views, "_POLL_S", 0.005)


@pytest.fixture
def job(workspace):
    return Job.objects.create(
        workspace=workspace,
        kind="ingest_document",
        source=ensure_source(workspace, "uploads", kind="upload"),
        payload={"path": "a.md"},
        items_total=3,
    )


@pytest.fixture
def token(workspace):
    return mint_token(workspace, scopes=["ingest"])


def parse(line):
    name, text = line.decode().rstrip("\n").split("\n")
    return name.removeprefix("event: "), json.loads(text.removeprefix("data: "))


async def watch(client, path, steps, headers=None):
    """Read a stream to its end; after the n-th event the n-th step happens."""
    response = await client.get(path, headers=headers)
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "text/event-stream"
    seen = []
    async with asyncio.timeout(_PATIENCE_S):
        async for line in response.streaming_content:
            seen.append(parse(line))
            if len(seen) <= len(steps):
                await sync_to_async(steps[len(seen) - 1])()
    return seen


def change(job, **fields):
    return lambda: Job.objects.in_workspace(job.workspace_id).filter(pk=job.pk).update(**fields)


def stream(workspace, job, token, *steps):
    path = address(workspace, f"/jobs/{job.pk}/events")
    return run(watch(AsyncClient(), path, steps, bearer(token)))


def bearer(token):
    return {"Authorization": f"Bearer {token[1]}"}


def test_progress_is_sent_at_every_change_until_the_end(workspace, job, token):
    seen = stream(
        workspace,
        job,
        token,
        change(job, state="running", started_at=timezone.now(), items_total=5),
        change(job, items_done=1, bytes_done=10, current_path="a.md"),
        change(job, items_done=3, chunks_done=7),
        change(job, state=JobState.SUCCEEDED, finished_at=timezone.now(), seq=4),
    )

    assert [name for name, _ in seen] == ["progress"] * 5 + ["end"]
    assert [fields["items_done"] for _, fields in seen] == [0, 0, 1, 3, 3, 3]
    assert [fields["state"] for _, fields in seen] == ["queued", *["running"] * 3, *["succeeded"] * 2]
    assert seen[2][1]["current_path"] == "a.md"
    assert [fields["items_per_s"] is None for _, fields in seen] == [True, True, *[False] * 4]
    assert [fields["eta_s"] is None for _, fields in seen] == [True, True, False, False, True, True]
    assert "report" not in seen[0][1]
    assert seen[-1][1]["seq"] == 4
    validate("ingest_report.v1", seen[-1][1]["report"])


def test_stream_of_a_finished_job_ends_at_once(workspace, job, token):
    change(job, state=JobState.FAILED, finished_at=timezone.now(), error="No.")()
    assert [name for name, _ in stream(workspace, job, token)] == ["progress", "end"]


def break_database(monkeypatch):
    def lose_connection(_):
        raise OperationalError("connection refused")

    monkeypatch.setattr(views, "readable_jobs", lose_connection)


@pytest.mark.parametrize("end", ["token is revoked", "workspace is deleted", "database is gone"])
def test_stream_ends_when_the_reader_loses_access(workspace, job, token, monkeypatch, end):
    steps = {
        "token is revoked": lambda: mark_revoked(token[0]),
        "workspace is deleted": lambda: delete_workspace(command_line_access(workspace)),
        "database is gone": lambda: break_database(monkeypatch),
    }
    assert [name for name, _ in stream(workspace, job, token, steps[end])] == ["progress"]


def sign_out(client, user):
    browser = Client()
    browser.cookies = client.cookies
    assert browser.post("/logout").status_code == 302


def change_password(client, user):
    user.set_password("lantern, seven horses")
    user.save()


def remove_member(client, user):
    Membership.objects.filter(user=user).delete()


@pytest.mark.parametrize("end", [sign_out, change_password, remove_member])
def test_stream_ends_with_its_session_or_membership(workspace, job, end):
    user, client = make_member(workspace, Role.VIEWER), AsyncClient()
    client.force_login(user)
    path = address(workspace, f"/jobs/{job.pk}/events")
    steps = [change(job, items_done=1), lambda: end(client, user)]
    seen = run(watch(client, path, steps))

    assert [fields["items_done"] for _, fields in seen] == [0, 1]


def test_events_of_a_job_of_another_workspace_are_not_found(workspace, other_workspace, token):
    theirs = Job.objects.create(workspace=other_workspace, kind="embed")

    async def ask():
        path = address(workspace, f"/jobs/{theirs.pk}/events")
        return await AsyncClient().get(path, headers=bearer(token))

    assert run(ask()).status_code == 404
