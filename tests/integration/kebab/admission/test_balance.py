"""Connections are balanced between the web processes of a node."""

import asyncio
import struct
import subprocess
import sys

import pytest

from kebab.application import create_application
from kebab.http.admission.balance import WebLoad, close_when_crowded

OTHER = """
import sys
from pathlib import Path
from kebab.http.admission.balance import WebLoad
load = WebLoad(Path(sys.argv[1]))
for line in sys.stdin:
    load.report(int(line))
    print("counted", flush=True)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "web-load"


@pytest.fixture
def other(path):
    """Yield another process with a load of its own, counted by the numbers that it reads."""
    with subprocess.Popen(
        [sys.executable, "-c", OTHER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        count(process, 0)
        yield process
        process.kill()


def count(process, clients):
    process.stdin.write(f"{clients}\n")
    process.stdin.flush()
    assert process.stdout.readline() == "counted\n"


def test_process_with_far_more_clients_than_another_is_crowded(path, other):
    load = WebLoad(path)
    verdicts = []
    for clients in range(1, 5):
        load.report(clients)
        verdicts.append(load.is_crowded)
    assert verdicts == [False, True, True, True]
    count(other, 2)
    assert not load.is_crowded
    load.report(6)
    assert load.is_crowded


def test_process_alone_is_never_crowded(path):
    load = WebLoad(path)
    load.report(50)
    assert not load.is_crowded


def test_counts_of_a_dead_process_are_ignored(path, other):
    load = WebLoad(path)
    load.report(5)
    other.kill()
    other.wait()
    assert not load.is_crowded
    assert not WebLoad(path.parent / "absent" / "web-load").is_crowded


def test_response_of_a_crowded_process_closes_the_connection(path, other):
    load = WebLoad(path)
    sent = []

    async def send(message):
        sent.append(message)

    async def answer():
        start = {"type": "http.response.start", "status": 200, "headers": [(b"a", b"b")]}
        await close_when_crowded(send, load)(start)

    asyncio.run(answer())
    load.report(3)
    asyncio.run(answer())
    assert [message["headers"] for message in sent] == [
        [(b"a", b"b")],
        [(b"a", b"b"), (b"connection", b"close")],
    ]


def test_clients_are_counted_while_they_are_answered(settings, tmp_path, monkeypatch):
    settings.KEBAB_METRICS_DIR = tmp_path
    application, ports, counts = create_application(), iter((1, 1, 2)), []

    def count_clients():
        return sum(number for (number,) in struct.iter_unpack("q", (tmp_path / "web-load").read_bytes()))

    async def answer_within(scope, receive, send):
        counts.append(count_clients())
        await ask()

    async def ask():
        port = next(ports, None)
        if port is not None:
            scope = {"type": "http", "method": "GET", "path": "/x", "headers": [], "query_string": b""}
            await application({**scope, "client": ("127.0.0.1", port)}, None, None)

    monkeypatch.setattr(application, "select", lambda scope: answer_within)
    asyncio.run(ask())
    assert (counts, count_clients()) == ([1, 1, 2], 0)
