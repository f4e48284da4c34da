"""Deadline of a request, from the lookup of its host name."""

import socket
from threading import Event

import pytest

from kebab.http_client.connections import TimedOut, connect_permitted
from kebab.http_client.endpoint import JsonEndpoint


@pytest.fixture
def silent_resolver(monkeypatch):
    """Make lookups last until the test has ended, or ten seconds."""
    is_over = Event()

    def wait(*args, **kwargs):
        is_over.wait(10)
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", wait)
    yield
    is_over.set()


@pytest.mark.usefixtures("silent_resolver")
def test_request_with_unanswered_lookup_ends_at_its_deadline():
    endpoint = JsonEndpoint("https://hooks.example.org/", headers={})
    with pytest.raises(TimedOut):
        endpoint.send(b"{}", headers={}, limit_s=0.05)


@pytest.mark.usefixtures("silent_resolver")
def test_connection_with_unanswered_lookup_ends_at_its_limit():
    with pytest.raises(TimedOut):
        connect_permitted("mail.example.org", 993, frozenset(), timeout_s=0.05)
