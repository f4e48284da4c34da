"""Events about documents follow the change log, each once and in its order."""

import json

import pytest
from django.db import transaction

from kebab.webhooks.endpoints import change_endpoint, publish
from kebab.webhooks.models import Delivery, Endpoint
from search.corpus.remove import delete_documents
from search.notifications import document_events
from search.notifications.document_events import queue_document_events
from tests.support.concurrency import at_once
from tests.support.corpus import make_workspace, write
from tests.support.jobs import Killed, die
from tests.support.webhooks import make_endpoint, operator_access

pytestmark = pytest.mark.django_db

URL = "https://hooks.example.org/kebab"
INDEXED, DELETED = "document.indexed", "document.deleted"


def waiting(endpoint):
    rows = Delivery.objects.filter(endpoint=endpoint).order_by("id")
    return [(row.type, json.loads(row.body)["data"]) for row in rows]


def test_each_change_since_its_creation_is_queued_once_in_order(workspace, monkeypatch):
    monkeypatch.setattr(document_events, "_BATCH", 2)
    write(workspace, "before.md", "text")
    endpoint = make_endpoint(workspace, URL, INDEXED, DELETED)
    first = write(workspace, "a.md", "one")
    write(workspace, "a.md", "two")
    write(workspace, "b.md", "three")
    write(make_workspace(), "elsewhere.md", "text")
    delete_documents(workspace, [first.doc_id])

    assert [queue_document_events(), queue_document_events()] == [4, 0]
    events = waiting(endpoint)
    assert [type_ for type_, _ in events] == [INDEXED, INDEXED, INDEXED, DELETED]
    assert [data["seq"] for _, data in events] == [2, 3, 4, 5]
    assert events[2][1]["path"] == "b.md" and events[2][1]["source"] == "docs"
    assert events[3][1] == {"document": first.doc_id.hex, "seq": 5}


def test_endpoint_gets_only_the_events_that_it_receives(workspace):
    endpoint = make_endpoint(workspace, URL, DELETED)
    make_endpoint(workspace, URL, "job.failed")
    written = write(workspace, "a.md", "one")
    delete_documents(workspace, [written.doc_id])
    queue_document_events()
    assert [type_ for type_, _ in waiting(endpoint)] == [DELETED]
    assert Delivery.objects.count() == 1


def test_reader_of_the_log_that_dies_queues_nothing_and_is_repeated(workspace, monkeypatch):
    endpoint = make_endpoint(workspace, URL, INDEXED)
    write(workspace, "a.md", "one")
    with monkeypatch.context() as patched:
        patched.setattr("django.db.models.query.QuerySet.update", die)
        with pytest.raises(Killed):
            queue_document_events()
    assert waiting(endpoint) == []
    assert (queue_document_events(), len(waiting(endpoint))) == (1, 1)


@pytest.mark.django_db(transaction=True)
def test_endpoint_that_is_locked_gets_its_events_later_and_delays_no_other(workspace):
    locked, other = make_endpoint(workspace, URL, INDEXED), make_endpoint(workspace, URL, INDEXED)
    for path in ("a.md", "b.md"):
        write(workspace, path, "text")
    with transaction.atomic():
        Endpoint.objects.select_for_update(no_key=True).get(pk=locked.pk)
        assert at_once([queue_document_events]) == [2]
        assert (len(waiting(locked)), len(waiting(other))) == (0, 2)
    assert queue_document_events() == 2
    assert waiting(locked) == waiting(other)


def test_endpoint_that_fails_gets_its_events_later_and_delays_no_other(workspace, monkeypatch):
    failing, other = make_endpoint(workspace, URL, INDEXED), make_endpoint(workspace, URL, INDEXED)
    write(workspace, "a.md", "text")

    def fail_for_one(workspace_id, events, *, endpoint_id):
        if endpoint_id == failing.pk:
            raise ValueError
        return publish(workspace_id, events, endpoint_id=endpoint_id)

    with monkeypatch.context() as patched:
        patched.setattr(document_events, "publish", fail_for_one)
        assert queue_document_events() == 1
    assert (len(waiting(failing)), len(waiting(other))) == (0, 1)
    assert (queue_document_events(), len(waiting(failing))) == (1, 1)


def test_log_waits_while_too_many_deliveries_wait(workspace, monkeypatch):
    monkeypatch.setattr(document_events, "MAX_WAITING", 1)
    monkeypatch.setattr(document_events, "_BATCH", 1)
    make_endpoint(workspace, URL, INDEXED)
    for number in range(4):
        write(workspace, f"{number}.md", "text")
    assert queue_document_events() == 2
    Delivery.objects.update(state="delivered")
    assert queue_document_events() == 2


def test_enabled_endpoint_gets_the_events_it_missed(workspace):
    owner = operator_access(workspace, "operator:test")
    endpoint = make_endpoint(workspace, URL, INDEXED)
    change_endpoint(owner, endpoint.pk, is_enabled=False)
    write(workspace, "missed.md", "text")
    assert queue_document_events() == 0
    change_endpoint(owner, endpoint.pk, is_enabled=True)
    assert queue_document_events() == 1

    write(workspace, "unasked.md", "text")
    change_endpoint(owner, endpoint.pk, events=["job.failed"])
    change_endpoint(owner, endpoint.pk, events=[INDEXED])
    assert queue_document_events() == 0
    assert Endpoint.objects.get().document_seq == 2
