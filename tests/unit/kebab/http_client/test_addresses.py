"""Permitted addresses of a request, by the resolution of its host name."""

import socket
import threading

import pytest

from kebab.http_client.connections import (
    AddressRefused,
    RequestFailed,
    is_explicit_address,
    resolve_permitted,
)

PUBLIC = (
    "93.184.216.34",
    "2606:2800:220:1:248:1893:25c8:1946",
    "::ffff:93.184.216.34",
    "64:ff9b::5db8:d822",
    "2002:5db8:d822::1",
)
OTHERS = (
    "127.0.0.1",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",  # noqa: S104 - nothing is bound to it
    "224.0.0.1",
    "255.255.255.255",
    "::1",
    "::",
    "fe80::1%eth0",
    "fc00::1",
    "ff02::1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::a9fe:a9fe",
    "2002:7f00:1::",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "::7f00:1",
    "::5db8:d822",
    "fec0::1",
)


@pytest.fixture
def resolve(monkeypatch):
    """Return a function that makes every name resolve to these addresses."""

    def set_(*addresses):
        found = [
            (socket.AF_INET6 if ":" in each else socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 80))
            for each in addresses
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: found)

    return set_


def test_public_addresses_are_permitted(resolve, subtests):
    for address in PUBLIC:
        resolve(address)
        with subtests.test(address=address):
            assert resolve_permitted("example.org", 80, frozenset()) == [address]


def test_other_addresses_are_permitted_for_named_hosts_only(resolve, subtests):
    for address in OTHERS:
        resolve(address)
        with subtests.test(address=address):
            with pytest.raises(AddressRefused):
                resolve_permitted("example.org", 80, frozenset({"example.com"}))
            assert resolve_permitted("Example.org", 80, frozenset({"example.org"})) == [address]


def test_one_private_address_among_public_ones_is_refused(resolve):
    resolve("93.184.216.34", "127.0.0.1")
    with pytest.raises(AddressRefused):
        resolve_permitted("example.org", 80, frozenset())


def test_addresses_come_once_in_the_order_of_the_resolver(resolve):
    resolve("93.184.216.34", "1.1.1.1", "93.184.216.34")
    assert resolve_permitted("example.org", 80, frozenset()) == ["93.184.216.34", "1.1.1.1"]


def test_name_without_an_address_is_a_failed_request(monkeypatch):
    for impossible in ("a" * 64 + ".org", "\udc80.org"):
        with pytest.raises(RequestFailed):
            resolve_permitted(impossible, 80, frozenset())

    def refuse(*args, **kwargs):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for limit_s in (None, 10):
        with pytest.raises(RequestFailed):
            resolve_permitted("example.invalid", 80, frozenset(), limit_s=limit_s)


def test_addresses_of_a_limited_lookup_are_checked(resolve):
    resolve("93.184.216.34")
    assert resolve_permitted("example.org", 80, frozenset(), limit_s=10) == ["93.184.216.34"]
    resolve("10.0.0.1")
    with pytest.raises(AddressRefused):
        resolve_permitted("example.org", 80, frozenset(), limit_s=10)


def test_numeric_address_needs_no_thread(monkeypatch):
    monkeypatch.setattr(threading.Thread, "start", lambda _: pytest.fail("a thread was started"))
    for address in ("93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"):
        assert resolve_permitted(address, 80, frozenset(), limit_s=10) == [address]


def test_localhost_and_an_address_as_such_name_their_address():
    named = [
        host for host in ("127.0.0.1", "::1", "localhost", "LOCALHOST", "tei") if is_explicit_address(host)
    ]
    assert named == ["127.0.0.1", "::1", "localhost", "LOCALHOST"]


def test_lookup_without_an_end_is_interrupted(monkeypatch):
    released = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: released.wait())

    def cancel():
        released.set()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        resolve_permitted("example.org", 80, frozenset(), limit_s=600, on_wait=cancel)
