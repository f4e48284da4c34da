"""Deliveries of webhooks: signed, repeated, in order of their subjects, never after revocation."""

import importlib
import random
import threading
import uuid
from datetime import timedelta

import pytest
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from kebab.errors import Conflict, InvalidRequest
from kebab.identity.caller import operator_access
from kebab.identity.models import AuditEvent
from kebab.people import audit
from kebab.tenancy.current_workspace import acting_in
from kebab.tenancy.roles import owner_connection
from kebab.webhooks.delivery import GIVE_UP_AFTER, KEEP, deliver_due, prune_deliveries
from kebab.webhooks.endpoints import (
    MAX_ENDPOINTS,
    Event,
    change_endpoint,
    create_endpoint,
    delete_endpoint,
    derive_event_id,
    publish,
    send_test,
)
from kebab.webhooks.models import Delivery, Endpoint
from tests.support.actors import make_workspace
from tests.support.webhooks import LOCAL, make_endpoint, receiving

pytestmark = pytest.mark.django_db

JOB = "job.finished"


@pytest.fixture
def receiver(settings):
    settings.KEBAB_PRIVATE_HOSTS = LOCAL
    with receiving() as running:
        yield running


@pytest.fixture
def owner(workspace):
    return operator_access(workspace, "operator:test")


def tell(workspace, subject, number, type_=JOB):
    event_id = derive_event_id(workspace.pk, subject, number)
    return publish(
        workspace.pk, [Event(type=type_, subject=subject, data={"of": subject, "n": number}, id=event_id)]
    )


def deliver():
    """Send what waits, as if all pauses were over."""
    Endpoint.objects.update(paused_until=None)
    Delivery.objects.filter(state="pending", due_at__gt=Now()).update(due_at=Now())
    return deliver_due(run_limit_s=60, senders=1)  # this thread, which sees what is not committed


def order(receiver):
    return [(data["of"], data["n"]) for data in receiver.subjects]


def test_event_reaches_its_receivers_signed_and_once(workspace, owner, receiver):
    endpoint, receiver.secret = create_endpoint(owner, url=receiver.url, events=[JOB])
    make_endpoint(workspace, receiver.url + "/other", "job.failed")
    make_endpoint(make_workspace(), receiver.url + "/elsewhere", JOB)
    assert [tell(workspace, "a", 1), tell(workspace, "a", 1)] == [1, 0]
    assert [deliver(), deliver()] == [1, 0]

    ((message_id, body),) = receiver.accepted
    assert body["type"] == JOB and body["data"] == {"of": "a", "n": 1} and body["timestamp"]
    row = Delivery.objects.get()
    assert (row.message_id, row.state, row.attempts) == (message_id, "delivered", 1)
    assert receiver.secret not in endpoint.sealed_secret


@pytest.mark.django_db(transaction=True)
def test_slow_endpoints_of_a_workspace_do_not_delay_another(workspace, receiver, monkeypatch):
    """Let the slow endpoints answer once the other workspace's event has arrived."""
    for number in range(MAX_ENDPOINTS):
        make_endpoint(workspace, f"{receiver.url}/{number}", JOB)
    other = make_workspace()
    make_endpoint(other, receiver.url + "/other", JOB)
    tell(workspace, "slow", 1)
    tell(other, "other", 1)
    arrived = threading.Event()

    def wait_for_other(body):
        is_other = body["data"]["of"] == "other"
        if is_other:
            arrived.set()
        return 204 if is_other or arrived.wait(1) else 500

    receiver.status_of = wait_for_other
    monkeypatch.setattr(random, "shuffle", lambda due: None)  # the slow ones first
    assert deliver_due() == MAX_ENDPOINTS + 1


def test_event_that_failed_delays_its_subject_only_and_keeps_its_id(workspace, receiver):
    make_endpoint(workspace, receiver.url, JOB)
    receiver.status_of = lambda body: 500 if body["data"] == {"of": "a", "n": 1} else 204
    for subject, number in (("a", 1), ("a", 2), ("b", 1), ("b", 2)):
        tell(workspace, subject, number)
    for _ in range(3):
        deliver()
    assert order(receiver) == [("b", 1), ("b", 2)]
    assert Delivery.objects.get(attempts__gt=1).status == 500

    receiver.status_of = lambda body: 204
    deliver()
    assert order(receiver)[2:] == [("a", 1), ("a", 2)]
    assert len({message_id for message_id, body in receiver.attempts if body["data"]["of"] == "a"}) == 2


def test_failure_pauses_the_endpoint_longer_each_time(workspace, receiver):
    make_endpoint(workspace, receiver.url, JOB)
    receiver.status = 503
    tell(workspace, "a", 1)
    tell(workspace, "b", 1)
    pauses = []
    for _ in range(3):
        deliver()
        assert deliver_due() == 0
        pauses.append(Endpoint.objects.get().paused_until - timezone.now())
    assert len(receiver.attempts) == 3
    assert pauses[0] < pauses[1] < pauses[2]


def test_sender_that_dies_before_its_commit_sends_again(workspace, receiver, monkeypatch):
    make_endpoint(workspace, receiver.url, JOB)
    for number in (1, 2):
        tell(workspace, "a", number)

    def die(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("kebab.webhooks.delivery._update", die)
        with pytest.raises(KeyboardInterrupt), transaction.atomic():
            deliver()
    deliver()
    assert order(receiver) == [("a", 1), ("a", 1), ("a", 2)]
    assert receiver.accepted[0][0] == receiver.accepted[1][0]


@pytest.mark.parametrize("end", ["delete", "disable"])
def test_nothing_is_sent_after_revocation(workspace, owner, receiver, end):
    endpoint = make_endpoint(workspace, receiver.url, JOB)
    tell(workspace, "a", 1)
    if end == "delete":
        delete_endpoint(owner, endpoint.pk)
    else:
        change_endpoint(owner, endpoint.pk, is_enabled=False)
    assert tell(workspace, "a", 2) == 0
    assert (deliver(), receiver.attempts) == (0, [])
    if end == "disable":
        with pytest.raises(Conflict):
            send_test(owner, endpoint.pk)
        change_endpoint(owner, endpoint.pk, is_enabled=True)
        assert deliver() == 1


def test_failing_webhook_is_disabled_after_days_and_a_410_at_once(workspace, receiver):
    dead, gone = (make_endpoint(workspace, receiver.url + path, JOB) for path in ("", "/gone"))
    receiver.status = 500
    tell(workspace, "a", 1)
    deliver()
    assert not Endpoint.objects.exclude(disabled_at=None)
    long_ago = timezone.now() - GIVE_UP_AFTER - timedelta(hours=1)
    Endpoint.objects.filter(pk=dead.pk).update(failing_since=long_ago)
    deliver()
    assert list(Endpoint.objects.exclude(disabled_at=None)) == [dead]
    receiver.status = 410
    deliver()
    assert set(Endpoint.objects.exclude(disabled_at=None)) == {dead, gone}
    assert AuditEvent.objects.filter(action="webhook.disabled").count() == 2


@pytest.mark.django_db(transaction=True)
def test_migration_masks_webhook_urls_in_older_audit_events(workspace):
    audit.record_person("kebab", "webhook.created", "https://hooks.example/T0/hush?x", workspace=workspace)
    audit.record_person("kebab", "source.created", "https://kept.example/path", workspace=workspace)
    mask = importlib.import_module("kebab.webhooks.migrations.0002_masked_audit_subjects").MASK
    with owner_connection() as owner:
        owner.execute("SET kebab.workspace_id = '*'")
        owner.execute(mask)
    subjects = set(AuditEvent.objects.values_list("subject", flat=True))
    assert subjects == {"https://hooks.example/…", "https://kept.example/path"}


def test_event_is_given_up_after_days_and_its_subject_goes_on(workspace, receiver):
    make_endpoint(workspace, receiver.url, JOB)
    tell(workspace, "a", 1)
    tell(workspace, "a", 2)
    Delivery.objects.filter(body__contains='"n": 1').update(created_at=timezone.now() - GIVE_UP_AFTER)
    receiver.status_of = lambda body: 422 if body["data"]["n"] == 1 else 204
    deliver()
    deliver()
    assert order(receiver) == [("a", 2)]
    assert Delivery.objects.get(state="failed").status == 422


def test_old_deliveries_are_pruned(workspace, receiver):
    make_endpoint(workspace, receiver.url, JOB)
    tell(workspace, "a", 1)
    tell(workspace, "a", 2)
    Delivery.objects.filter(body__contains='"n": 1').update(created_at=timezone.now() - KEEP)
    assert prune_deliveries() == 1


def test_test_event_goes_to_one_endpoint_whatever_it_receives(workspace, owner, receiver):
    endpoint = make_endpoint(workspace, receiver.url, JOB)
    make_endpoint(workspace, receiver.url, JOB)
    event_id = send_test(owner, endpoint.pk)
    assert deliver() == 1
    assert receiver.accepted[0][0] == f"evt_{event_id.hex}"
    assert receiver.accepted[0][1]["type"] == "webhook.test"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.org",
        "ftp://example.org/hook",
        "http://example.org/hook",
        "https://user:secret@example.org/hook",
        "https://example.org/hook#part",
        "https://10.0.0.8/hook",
        "https://[::1]/hook",
        "https://localhost/hook",
        "https://example.org:99999/hook",
        "https://exämple.org/hook",
        "https://example.org/" + "x" * 1_000,
    ],
)
def test_address_that_may_not_receive_events_is_refused(owner, url):
    with pytest.raises(InvalidRequest):
        create_endpoint(owner, url=url, events=[JOB])


def test_name_that_leads_to_a_private_address_gets_nothing(workspace, receiver, settings):
    make_endpoint(workspace, receiver.url, JOB)
    tell(workspace, "a", 1)
    settings.KEBAB_PRIVATE_HOSTS = frozenset()
    assert (deliver(), receiver.attempts) == (0, [])
    assert "KEBAB_PRIVATE_HOSTS" in Delivery.objects.get().error


def test_other_workspaces_see_neither_endpoint_nor_deliveries(workspace, receiver):
    make_endpoint(workspace, receiver.url, JOB)
    tell(workspace, "a", 1)
    with acting_in(uuid.uuid4()):
        assert not Endpoint.objects.exists() and not Delivery.objects.exists()
