"""HAProxy with our configuration, in front of a node that returns the headers it received."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import httpx
import pytest

from tests.acceptance.deploy.servers_by_tcp import find_program
from tests.acceptance.deploy.site import Proxy
from tests.support.stack import eventually, temporary_directory

pytestmark = pytest.mark.slow

FORGED = {"X-Forwarded-For": "198.51.100.1, 203.0.113.9", "X-Forwarded-Proto": "https"}


class _Echo(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        names = ("X-Forwarded-For", "X-Forwarded-Proto")
        body = json.dumps([self.headers[name] for name in names]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Disable logging."""


@contextmanager
def echo() -> Iterator[str]:
    """Serve a node in a thread, and yield its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Echo) as node:
        thread = Thread(target=node.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{node.server_port}"
        finally:
            node.shutdown()
            thread.join()


@pytest.fixture
def headers_at_node() -> Iterator[Callable[..., list[str]]]:
    """Yield a function that returns the address and scheme seen by a node for forged headers."""
    haproxy = find_program("haproxy", "install Debian's haproxy", pytest.skip)
    with ExitStack() as stack:
        node = stack.enter_context(echo())

        def ask(*balancers: str) -> list[str]:
            folder = temporary_directory()
            stack.callback(shutil.rmtree, folder)
            proxy = Proxy(folder / "proxy", haproxy, [node], balancers=balancers)
            stack.callback(proxy.stop)
            proxy.start()
            eventually(lambda: _answer(proxy.url), "the proxy answers", 30)
            return _answer(proxy.url)

        yield ask


def _answer(url: str) -> list[str]:
    try:
        return list(httpx.get(url, headers=FORGED, timeout=30).json())
    except httpx.HTTPError:
        return []


@pytest.mark.parametrize("balancers", [(), ("192.0.2.1", "10.0.0.0/8")], ids=["none", "others"])
def test_forwarded_headers_of_a_client_are_ignored(headers_at_node, balancers):
    assert headers_at_node(*balancers) == ["127.0.0.1", "http"]


def test_last_forwarded_address_of_a_trusted_balancer_is_used(headers_at_node):
    assert headers_at_node("192.0.2.1", "127.0.0.0/8") == ["203.0.113.9", "https"]
