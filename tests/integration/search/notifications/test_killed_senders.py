"""Senders that are killed while a delivery is under way: at least once, in order, none after revocation."""

import json
import os
import subprocess
import sys
from collections import defaultdict
from contextlib import ExitStack

import pytest
from django.conf import settings
from django.db import connection

from kebab.webhooks.endpoints import delete_endpoint
from kebab.webhooks.models import Delivery, Endpoint
from search.corpus.remove import delete_documents
from tests.support.corpus import write
from tests.support.stack import eventually
from tests.support.webhooks import LOCAL, make_endpoint, operator_access, receiving

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

EVENTS = ("document.indexed", "document.deleted")
DOCUMENTS, CHANGES = 8, 5
#: Of all requests every so many kill their sender before they are answered.
KILLING = 7
_SEND = """
import sys, django
django.setup()
from django.db import connection
connection.settings_dict["NAME"] = sys.argv[1]
from kebab.webhooks.delivery import deliver_due
from search.notifications.document_events import queue_document_events
while True:
    queue_document_events()
    deliver_due()
"""


class Senders:
    """Two senders; a killed one is replaced."""

    def __init__(self, stack):
        self._stack = stack
        self._running = [self._start() for _ in range(2)]
        self.killed = 0

    def kill_all(self):
        for number, process in enumerate(self._running):
            if process.poll() is None:
                process.kill()
                self.killed += 1
                self._running[number] = self._start()

    def _start(self):
        process = subprocess.Popen(
            [sys.executable, "-c", _SEND, connection.settings_dict["NAME"]],
            env={
                **os.environ,
                "DJANGO_SETTINGS_MODULE": "kebab.settings",
                "KEBAB_PRIVATE_HOSTS": ",".join(LOCAL),
            },
            cwd=settings.BASE_DIR,
        )
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return process


@pytest.fixture
def receiver(settings):
    settings.KEBAB_PRIVATE_HOSTS = LOCAL
    with receiving() as running:
        yield running


def test_events_survive_killed_senders(workspace, receiver):
    kept = make_endpoint(workspace, receiver.url, *EVENTS)
    revoked = make_endpoint(workspace, f"{receiver.url}/revoked", *EVENTS)
    for number in range(DOCUMENTS):
        for change in range(CHANGES - 1):
            written = write(workspace, f"{number}.md", f"text {change}")
        delete_documents(workspace, [written.doc_id])
    with ExitStack() as stack:
        senders = Senders(stack)

        def kill_some(body):
            if len(receiver.attempts) % KILLING == 0:
                senders.kill_all()
                return 500  # nobody reads it
            return 204

        receiver.status_of = kill_some
        eventually(lambda: receiver.paths.count("/hook/revoked") >= KILLING, "some were revoked", 120)
        delete_endpoint(operator_access(workspace, "operator:test"), revoked.pk)
        sent_before = receiver.paths.count("/hook/revoked")
        eventually(lambda: _all_delivered(kept), "all were delivered", 300)
        assert senders.killed > 2
        assert receiver.paths.count("/hook/revoked") == sent_before
    _check_order(receiver)


def _all_delivered(endpoint):
    rows = Delivery.objects.filter(endpoint=endpoint)
    seq = Endpoint.objects.get(pk=endpoint.pk).document_seq
    Endpoint.objects.update(paused_until=None)
    Delivery.objects.filter(attempts__gt=0, state="pending").update(due_at="2001-01-01T00:00:00Z")
    return seq == DOCUMENTS * CHANGES and not rows.exclude(state="delivered").exists()


def _check_order(receiver):
    first_of = defaultdict(list)
    ids = defaultdict(set)
    for message_id, body in receiver.accepted_at("/hook"):
        numbers = first_of[body["data"]["document"]]
        ids[body["data"]["seq"]].add(message_id)
        if body["data"]["seq"] not in numbers:
            numbers.append(body["data"]["seq"])
    assert sorted(ids) == list(range(1, DOCUMENTS * CHANGES + 1)), json.dumps(sorted(ids))
    assert all(len(each) == 1 for each in ids.values())
    assert all(numbers == sorted(numbers) for numbers in first_of.values())
