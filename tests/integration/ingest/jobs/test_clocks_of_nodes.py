"""Clocks of nodes differ and jump: Postgres' says what is due, and which of two uploads is the later."""

from datetime import timedelta

import pytest
from django.utils import timezone

from ingest.jobs import hints
from ingest.jobs.hints import hint_due_jobs
from ingest.jobs.lease import claim
from ingest.models import Job
from search.models import Chunk
from tests.support.jobs import upload, work

pytestmark = pytest.mark.django_db


@pytest.fixture
def clock(monkeypatch):
    """Have this process's clock be wrong by so many hours."""
    right = timezone.now

    def set_to(hours):
        monkeypatch.setattr(timezone, "now", lambda: right() + timedelta(hours=hours))

    return set_to


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_job_that_is_asked_for_is_due_at_once(workspace, clock, hours):
    clock(hours)
    job = upload(workspace, "a.md", b"# One")
    assert claim(job.workspace_id, job.pk) is not None


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_lost_hint_is_sent_again_after_seconds(workspace, clock, hours, monkeypatch):
    clock(hours)
    upload(workspace, "a.md", b"# One")
    hints._redis().flushall()
    assert hint_due_jobs() == 1
    hints._redis().flushall()
    assert hint_due_jobs() == 0
    monkeypatch.setattr(hints, "_FRESH", timedelta(0))
    assert hint_due_jobs() == 1


def test_of_two_uploads_the_later_one_counts_whatever_the_clocks_say(workspace, clock):
    clock(1)
    first = upload(workspace, "a.md", b"# First")
    clock(-1)
    second = upload(workspace, "a.md", b"# Second")
    for job in (second, first):
        work(job)
    assert [chunk.text for chunk in Chunk.objects.in_workspace(workspace)] == ["# Second"]
    assert Job.objects.get(pk=first.pk).created_at < Job.objects.get(pk=second.pk).created_at
