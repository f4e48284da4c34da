"""A stream of a job's events ends with the right to read the job's source; test_removal.py has more ways."""

import asyncio

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient

from ingest.api.jobs import events
from ingest.models import Job
from kebab.people.models import ApiToken, GroupMember, Membership, Role, TokenGroup
from kebab.people.tokens import mint_token
from search.models import Source
from tests.support.actors import make_member
from tests.support.api import address
from tests.support.loops import run

pytestmark = pytest.mark.django_db(transaction=True)
_PATIENCE_S = 20


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(events, "_POLL_S", 0.005)


@pytest.fixture
def job(workspace, restricted):
    return Job.objects.create(
        workspace=workspace, kind="sync_source", source=restricted.source, items_total=3
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
    """Read a stream to its end; `step` happens after its first event. Give the events' names."""
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


def test_who_may_read_the_source_hears_of_its_end(workspace, job, member, token):
    assert watch(workspace, job, end(job), user=member) == ["progress", "progress", "end"]
    Job.objects.update(state="queued", finished_at=None)
    assert watch(workspace, job, end(job), headers=token) == ["progress", "progress", "end"]


def test_nobody_hears_more_when_the_source_of_the_job_goes(workspace, job, member, token):
    def lose():
        Job.objects.update(source=None)

    assert watch(workspace, job, lose, user=member) == ["progress"]
    Job.objects.update(source=Source.objects.get(is_restricted=True))
    assert watch(workspace, job, lose, headers=token) == ["progress"]


def test_a_token_hears_no_more_when_it_has_no_scope_left(workspace, job, token):
    def strip():
        ApiToken.objects.update(scopes=[])

    assert watch(workspace, job, strip, headers=token) == ["progress"]
