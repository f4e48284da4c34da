"""A machine of workers alone tells what its processes count, on a port of its own."""

import socket

import httpx

from kebab.metrics import serving
from kebab.metrics.store import Store


def test_counts_are_told_on_a_port(settings, tmp_path):
    settings.KEBAB_METRICS_DIR = tmp_path
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        settings.KEBAB_METRICS_PORT = probe.getsockname()[1]
    store = Store()
    store.publish(tmp_path, "worker")
    serving.serve_counts()
    serving.serve_counts()  # another process of the machine: the first tells of it too

    url = f"http://127.0.0.1:{settings.KEBAB_METRICS_PORT}"
    answer = httpx.get(f"{url}/metrics")
    assert answer.status_code == 200
    assert 'process_open_fds{role="worker"' in answer.text
    assert httpx.get(f"{url}/else").status_code == 404
