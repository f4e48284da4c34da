"""The change log has no gaps and follows the order of commits."""

import uuid
from datetime import timedelta
from functools import partial
from threading import Event

import pytest
from django.db import connection, transaction
from django.utils import timezone

from kebab.identity.models import Workspace
from search.corpus import replace_document
from search.corpus.replace import CHANNEL, KEEP, append_changes, prune_changes
from search.models import Change, Document
from tests.support.concurrency import at_once
from tests.support.corpus import draft, make_place, make_workspace, write

WRITERS, WRITES = 3, 5


def numbers(workspace):
    return list(Change.objects.in_workspace(workspace).order_by("seq").values_list("seq", flat=True))


def age(workspace, **lookup):
    """Make changes older than their retention."""
    old = timezone.now() - KEEP - timedelta(hours=1)
    return Change.objects.in_workspace(workspace).filter(**lookup).update(at=old)


def write_documents(places, *, writer):
    return [replace_document(place, draft(f"{writer} {n}")).seq for n, place in enumerate(places)]


@pytest.mark.django_db(transaction=True)
def test_concurrent_writers_of_a_new_document_create_it_once():
    workspace = make_workspace()
    places = [make_place(workspace) for _ in range(4)]
    written = at_once([partial(replace_document, place, draft("one")) for place in places])
    assert sorted(each.outcome for each in written) == ["new", "unchanged", "unchanged", "unchanged"]
    assert (Document.objects.count(), numbers(workspace)) == (1, [1])


@pytest.mark.django_db(transaction=True)
def test_readers_never_see_a_gap_in_the_change_log():
    workspaces = [make_workspace() for _ in range(3)]
    places = [
        [make_place(workspace, f"{w}/{n}.md") for n in range(WRITES) for workspace in workspaces]
        for w in range(WRITERS)
    ]
    seen, done, given = [], Event(), []

    def read():
        while not done.is_set():
            seen.append(numbers(workspaces[0]))

    def write_all():
        try:
            given.extend(at_once([partial(write_documents, mine, writer=w) for w, mine in enumerate(places)]))
        finally:
            done.set()

    at_once([read, write_all])
    assert all(each == list(range(1, len(each) + 1)) for each in seen)
    for index, workspace in enumerate(workspaces):
        assert numbers(workspace) == list(range(1, WRITERS * WRITES + 1))
        assert Workspace.objects.get(pk=workspace.pk).head_seq == WRITERS * WRITES
        own = [mine[index :: len(workspaces)] for mine in given]
        assert sorted(seq for mine in own for seq in mine) == numbers(workspace)
        assert all(mine == sorted(mine) for mine in own)


@pytest.mark.django_db(transaction=True)
def test_change_numbers_are_committed_in_order():
    workspace = make_workspace()
    numbered, may_commit = Event(), Event()
    order = []

    def slow():
        with transaction.atomic():
            append_changes(workspace.pk, [uuid.uuid4()], "upsert")
            numbered.set()
            assert may_commit.wait(30)
            order.append("slow")

    def quick():
        assert numbered.wait(30)
        assert numbers(workspace) == []
        may_commit.set()
        append_changes(workspace.pk, [uuid.uuid4()], "upsert")
        order.append("quick")

    at_once([slow, quick])
    assert (order, numbers(workspace)) == (["slow", "quick"], [1, 2])


@pytest.mark.django_db(transaction=True)
def test_commit_notifies_listeners():
    import psycopg

    workspace = make_workspace()
    parameters = connection.get_connection_params()
    parameters = {k: v for k, v in parameters.items() if k not in {"cursor_factory", "context", "pool"}}
    with psycopg.connect(**parameters, autocommit=True) as listener:
        listener.execute(f"LISTEN {CHANNEL}")
        append_changes(workspace.pk, [uuid.uuid4()], "upsert")
        notifications = list(listener.notifies(timeout=30, stop_after=1))
    assert [note.payload for note in notifications] == [str(workspace.pk)]


@pytest.mark.django_db
def test_batch_is_numbered_in_its_order_under_one_token():
    workspace = make_workspace()
    with pytest.raises(ZeroDivisionError), transaction.atomic():  # what is rolled back takes no number
        append_changes(workspace.pk, [uuid.uuid4()], "upsert")
        raise ZeroDivisionError
    ids = [uuid.uuid4() for _ in range(5)]
    assert append_changes(workspace.pk, ids, "delete") == 5
    changes = Change.objects.in_workspace(workspace).order_by("seq")
    assert [change.doc_id for change in changes] == ids
    assert len({change.token for change in changes}) == 1
    append_changes(workspace.pk, ids, "delete")
    assert changes.last().token != changes.first().token
    gone = uuid.uuid4()
    with pytest.raises(LookupError, match=str(gone)):
        append_changes(gone, ids, "upsert")


@pytest.mark.django_db
def test_pruning_keeps_a_week_and_always_the_latest():
    old, mixed = make_workspace(), make_workspace()
    for workspace in (old, mixed):
        for name in "abcd":
            write(workspace, f"{name}.md", "one")
    age(old)
    age(mixed, seq__lte=2)
    assert prune_changes() == 3 + 2
    assert (numbers(old), numbers(mixed)) == ([4], [3, 4])
    assert prune_changes() == 0
