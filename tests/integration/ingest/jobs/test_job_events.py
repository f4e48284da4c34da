"""Events about the end of jobs, in the transaction of the end."""

import json

import pytest

from ingest.jobs.queue.request import cancel, request_sync
from kebab.webhooks.models import Delivery
from tests.support.jobs import Killed, die, expire, fill, upload, work
from tests.support.webhooks import make_endpoint


@pytest.fixture
def events(workspace):
    endpoint = make_endpoint(workspace, "https://hooks.example.org/", "job.finished", "job.failed")

    def events():
        rows = Delivery.objects.filter(endpoint=endpoint).order_by("id")
        facts = [(row.type, json.loads(row.body)["data"]) for row in rows]
        return [(type_, fact["job"], fact["state"]) for type_, fact in facts if fact["kind"] != "embed"]

    return events


def test_end_of_a_job_queues_one_event(workspace, source, folder, events):
    fill(folder, {"a.md": "text\n"})
    done = work(request_sync(source))
    cancelled = cancel(upload(workspace, "a.md", b"text"))
    folder.rename(folder.parent / "away")
    failed = work(request_sync(source))

    assert events() == [
        ("job.finished", str(done.pk), "succeeded"),
        ("job.finished", str(cancelled.pk), "cancelled"),
        ("job.failed", str(failed.pk), "failed"),
    ]


def test_worker_killed_before_the_end_of_a_job_queues_no_event(
    workspace, source, folder, events, monkeypatch
):
    fill(folder, {"a.md": "text\n"})
    job = request_sync(source)
    with monkeypatch.context() as patched:
        patched.setattr("ingest.jobs.queue.run.partial", die)  # called just after the event is queued
        with pytest.raises(Killed):
            work(job)
    assert events() == []
    expire(job)
    assert work(job).state == "succeeded"
    assert events() == [("job.finished", str(job.pk), "succeeded")]
