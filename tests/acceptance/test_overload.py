"""Overload by one client: it waits or is rejected, and others are answered."""

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

from tests.drills.load.arrivals import send_sequentially
from tests.drills.load.http_client import Request

pytestmark = [pytest.mark.slow, pytest.mark.alone]

_CLIENTS = 150
_OVERLOAD_S = 8.0
_SLOW_SENDERS = 40
# More than one process answers at a time, fewer than may wait for documents there.
_WAITING = 12


@pytest.fixture(scope="module")
def filled_client(client):
    for number in range(20):
        client.upload(f"{number}.md", f"# Note {number}\n\nThe plover of day {number}.\n")
    client.upload("last.md", "# Last\n\nA plover.\n", wait_for="searchable")
    return client


def test_overload_of_one_workspace_causes_no_rejection_in_another(filled_client, make_client, stack):
    quiet = make_client()
    quiet.upload("one.md", "# One\n\nA dotterel.\n", wait_for="searchable")
    body = {"q": "plover of the day"}
    path = f"/api/v1/workspaces/{filled_client.slug}/search"
    request = Request(kind="search", method="POST", path=path, token=filled_client.token, body=body)
    with ThreadPoolExecutor(1) as executor:
        overload = send_sequentially(stack.url, lambda: request, clients=_CLIENTS, length_s=_OVERLOAD_S)
        running = executor.submit(asyncio.run, overload)
        took_s = []
        while not running.done():
            began = time.monotonic()
            assert quiet.search("dotterel")["hits"]
            took_s.append(time.monotonic() - began)
        log = running.result()
    statuses = Counter(answer.status for answer in log.answers)
    assert set(statuses) <= {200, 429, 503}, statuses
    assert statuses[200] > 20
    # 503 of a process that the other workspace sends no requests to.
    assert statuses[429] + statuses[503] > 0, statuses
    assert {answer.retry_after for answer in log.answers if answer.status != 200} == {"1"}
    assert statistics.median(took_s) < 1.5, took_s


def test_slow_request_bodies_do_not_delay_other_clients(filled_client, stack):
    request = (
        f"POST /api/v1/workspaces/{filled_client.slug}/search HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {filled_client.token}\r\nContent-Type: application/json\r\n"
        "Content-Length: 100\r\n\r\n{"
    )
    with contextlib.ExitStack() as sockets:
        for _ in range(_SLOW_SENDERS):
            sender = sockets.enter_context(socket.create_connection(("127.0.0.1", stack.port)))
            sender.sendall(request.encode())
        began = time.monotonic()
        assert filled_client.search("plover")["hits"]
        assert time.monotonic() - began < 3


def test_waiting_for_documents_delays_no_search(filled_client, stack):
    worker = stack.pids()["worker"]
    os.kill(worker, signal.SIGSTOP)
    try:
        with ThreadPoolExecutor(_WAITING) as threads:
            waiting = [
                threads.submit(
                    filled_client.upload, f"late-{n}.md", f"# Late {n}\n\nA knot.\n", wait_for="searchable"
                )
                for n in range(_WAITING)
            ]
            began = time.monotonic()
            for _ in range(5):
                assert filled_client.search("plover")["hits"]
            assert time.monotonic() - began < 10
            assert not any(each.done() for each in waiting)
            os.kill(worker, signal.SIGCONT)
            for each in waiting:
                assert each.result()["seq"]
    finally:
        os.kill(worker, signal.SIGCONT)
