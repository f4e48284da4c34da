"""A stream of a job's events ends with the right to read the job's source; test_removal.py has more cases."""

import asyncio

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient

from ingest.api.jobs import views
from ingest.models import Job
from kebab.identity.models import ApiToken, GroupMember, Membership, Role, TokenGroup
from kebab.identity.tokens import mint_token
from search.models import Source
from tests.support.actors import make_member
from tests.support.api import address
from tests.support.loops import run

pytestmark = pytest.mark.django_db(transaction=True)
_PATIENCE_S = 20


@pytest.fixture(autouse=True)
def _short_poll(monkeypatch):
    monkeypatch.setattr(views, "_POLL_S", 0.005)


@pytest.fixture
def job(workspace, restricted_source):
    return Job.objects.create(
        workspace=workspace, kind="sync_source", source=restricted_source.source, items_total=3
    )


@pytest.fixture
def member(workspace, group):
    user = make_member(workspace, Role.VIEWER)
    membership = Membership.objects.get(workspace=workspace, user=user)
    GroupMember.objects.create(workspace=workspace, group=group, membership=membership)
    return user


@pytest.fixture
def token(workspace, group):
    token, secret = mint_token(workspace, scopes=["search"])
    TokenGroup.objects.create(workspace=workspace, group=group, token=token)
    return {"Authorization": f"Bearer {secret}"}


def watch(workspace, job, step, *, user=None, headers=None):
    """Read a stream to its end, run `step` after its first event, and return the events' names."""
    client = AsyncClient()
    if user is not None:
        client.force_login(user)

    async def read():
        response = await client.get(address(workspace, f"/jobs/{job.pk}/events"), headers=headers)
        assert response.status_code == 200
        names = []
        async with asyncio.timeout(_PATIENCE_S):
            async for line in response.streaming_content:
                names.append(line.decode().partition("\n")[0].removeprefix("event: "))
                if len(names) == 1:
                    await sync_to_async(step)()
        return names

    return run(read())


def end(job):
    return lambda: Job.objects.filter(pk=job.pk).update(state="cancelled", finished_at=job.created_at)


def test_reader_of_the_source_gets_the_final_event(workspace, job, member, token):
    assert watch(workspace, job, end(job), user=member) == ["progress", "progress", "end"]
    Job.objects.update(state="queued", finished_at=None)
    assert watch(workspace, job, end(job), headers=token) == ["progress", "progress", "end"]


def test_stream_ends_without_event_when_the_source_is_deleted(workspace, job, member, token):
    def delete_sources():
        Job.objects.update(source=None)

    assert watch(workspace, job, delete_sources, user=member) == ["progress"]
    Job.objects.update(source=Source.objects.get(is_restricted=True))
    assert watch(workspace, job, delete_sources, headers=token) == ["progress"]


def test_stream_ends_without_event_when_the_token_loses_its_scopes(workspace, job, token):
    def remove_scopes():
        ApiToken.objects.update(scopes=[])

    assert watch(workspace, job, remove_scopes, headers=token) == ["progress"]
