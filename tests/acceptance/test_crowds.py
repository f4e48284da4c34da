"""Too much at once, and too slowly: who asks for it waits or is refused, the others are answered."""

import asyncio
import contextlib
import os
import signal
import socket
import statistics
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.drills.load.arrivals import one_after_the_other
from tests.drills.load.http_client import Request

pytestmark = [pytest.mark.slow, pytest.mark.alone]

_CROWD = 150
_CROWDED_S = 8.0
_SLOW_SENDERS = 40
# More than answer at once in one process, fewer than may wait for documents there.
_WAITING = 12


@pytest.fixture(scope="module")
def filled(client):
    for number in range(20):
        client.upload(f"{number}.md", f"# Note {number}\n\nThe plover of day {number}.\n")
    client.upload("last.md", "# Last\n\nA plover.\n", wait_for="searchable")
    return client


def test_a_crowd_in_one_workspace_costs_another_no_refusal(filled, make_client, stack):
    quiet = make_client()
    quiet.upload("one.md", "# One\n\nA dotterel.\n", wait_for="searchable")
    body = {"q": "plover of the day"}
    path = f"/api/v1/workspaces/{filled.slug}/search"
    request = Request(kind="search", method="POST", path=path, token=filled.token, body=body)
    with ThreadPoolExecutor(1) as beside:
        crowd = one_after_the_other(stack.url, lambda: request, clients=_CROWD, length_s=_CROWDED_S)
        crowding = beside.submit(asyncio.run, crowd)
        took_s = []
        while not crowding.done():
            began = time.monotonic()
            assert quiet.search("dotterel")["hits"]
            took_s.append(time.monotonic() - began)
        heard = crowding.result()
    statuses = Counter(answer.status for answer in heard.answers)
    assert set(statuses) <= {200, 429, 503}, statuses
    assert statuses[200] > 20
    # 503 by the process of which the other workspace asks nothing at the moment.
    assert statuses[429] + statuses[503] > 0, statuses
    assert {answer.retry_after for answer in heard.answers if answer.status != 200} == {"1"}
    assert statistics.median(took_s) < 1.5, took_s


def test_senders_of_slow_bodies_hold_up_nobody(filled, stack):
    request = (
        f"POST /api/v1/workspaces/{filled.slug}/search HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {filled.token}\r\nContent-Type: application/json\r\n"
        "Content-Length: 100\r\n\r\n{"
    )
    with contextlib.ExitStack() as sockets:
        for _ in range(_SLOW_SENDERS):
            sender = sockets.enter_context(socket.create_connection(("127.0.0.1", stack.port)))
            sender.sendall(request.encode())
        began = time.monotonic()
        assert filled.search("plover")["hits"]
        assert time.monotonic() - began < 3


def test_waiting_for_documents_holds_up_no_search(filled, stack):
    worker = stack.pids()["worker"]
    os.kill(worker, signal.SIGSTOP)
    try:
        with ThreadPoolExecutor(_WAITING) as threads:
            waiting = [
                threads.submit(
                    filled.upload, f"late-{n}.md", f"# Late {n}\n\nA knot.\n", wait_for="searchable"
                )
                for n in range(_WAITING)
            ]
            began = time.monotonic()
            for _ in range(5):
                assert filled.search("plover")["hits"]
            assert time.monotonic() - began < 10
            assert not any(each.done() for each in waiting)
            os.kill(worker, signal.SIGCONT)
            for each in waiting:
                assert each.result()["seq"]
    finally:
        os.kill(worker, signal.SIGCONT)
