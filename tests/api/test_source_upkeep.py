"""Watching and schedules over HTTP: what is asked for, and what is seen of it."""

from datetime import datetime

import pytest
from django.utils import timezone

from ingest.jobs.schedule import MAX_FAILURES, request_due_syncs
from ingest.models import Job
from search.models import Source
from tests.support.api import address, folder, run_to_end

pytestmark = pytest.mark.django_db(transaction=True)

SEEN = ("watch", "sync_every_minutes", "last_sync_at", "next_sync_at", "sync_failures", "is_sync_paused")


def create(client, workspace, **body):
    return client.post(address(workspace, "/sources"), body, format="json")


def change(client, workspace, source, **body):
    return client.patch(address(workspace, f"/sources/{source['id']}"), body, format="json")


@pytest.fixture
def docs(client, workspace, settings, tmp_path):
    """A folder source as the API gives it."""
    root = folder(settings, tmp_path, a_md="# A\n\nfirst\n")
    return create(client, workspace, key="docs", kind="folder", config={"path": str(root)}).json()


def minutes_until(moment):
    return (datetime.fromisoformat(moment) - timezone.now()).total_seconds() / 60


def test_a_source_keeps_itself_up_to_date_only_when_that_is_wanted(docs):
    assert {name: docs[name] for name in SEEN} == {
        "watch": False,
        "sync_every_minutes": None,
        "last_sync_at": None,
        "next_sync_at": None,
        "sync_failures": 0,
        "is_sync_paused": False,
    }


def test_a_new_source_with_a_schedule_is_synced_at_once(client, workspace, settings, tmp_path):
    root = folder(settings, tmp_path, a_md="# A\n\nfirst\n")
    asked = {"watch": True, "sync_every_minutes": 60}
    source = create(client, workspace, key="docs", kind="folder", config={"path": str(root)}, **asked).json()
    assert (source["watch"], source["sync_every_minutes"]) == (True, 60)
    assert minutes_until(source["next_sync_at"]) <= 0

    assert request_due_syncs() == 1
    assert run_to_end(Job.objects.get(kind="sync_source")).state == "succeeded"
    source = client.get(address(workspace, f"/sources/{source['id']}")).json()
    assert minutes_until(source["last_sync_at"]) > -1
    assert 50 < minutes_until(source["next_sync_at"]) < 70


def test_a_schedule_is_changed_and_taken_away(client, workspace, docs):
    changed = change(client, workspace, docs, sync_every_minutes=10, watch=True).json()
    assert (changed["sync_every_minutes"], changed["watch"]) == (10, True)
    assert 8 < minutes_until(changed["next_sync_at"]) < 12
    changed = change(client, workspace, docs, sync_every_minutes=None, watch=False).json()
    assert (changed["sync_every_minutes"], changed["next_sync_at"], changed["watch"]) == (None, None, False)


def test_other_changes_leave_the_schedule_alone(client, workspace, docs):
    planned = change(client, workspace, docs, sync_every_minutes=10).json()["next_sync_at"]
    assert change(client, workspace, docs, title="Docs").json()["next_sync_at"] == planned


def test_a_paused_schedule_is_seen_and_goes_on_when_it_is_stated_again(client, workspace, docs):
    change(client, workspace, docs, sync_every_minutes=10)
    Source.objects.update(sync_failures=MAX_FAILURES, next_sync_at=None)
    seen = client.get(address(workspace, f"/sources/{docs['id']}")).json()
    assert (seen["is_sync_paused"], seen["sync_failures"], seen["next_sync_at"]) == (True, MAX_FAILURES, None)
    again = change(client, workspace, docs, sync_every_minutes=10).json()
    assert (again["is_sync_paused"], again["sync_failures"]) == (False, 0)
    assert again["next_sync_at"] is not None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("sync_every_minutes", 4),
        ("sync_every_minutes", 43_201),
        ("sync_every_minutes", "often"),
        ("watch", None),
    ],
)
def test_a_wrong_value_is_refused_by_its_name(client, workspace, docs, field, value):
    answer = change(client, workspace, docs, **{field: value})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, field)


@pytest.mark.parametrize(("field", "value"), [("watch", True), ("sync_every_minutes", 60)])
def test_uploads_have_nothing_to_watch_or_to_sync(client, workspace, field, value):
    answers = [create(client, workspace, key="files", kind="upload", **{field: value})]
    source = create(client, workspace, key="files", kind="upload").json()
    answers.append(change(client, workspace, source, **{field: value}))
    for answer in answers:
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, field)
