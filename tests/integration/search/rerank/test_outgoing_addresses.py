"""Where a request may go, seen from what a name resolves to."""

import socket

import pytest

from kebab.outgoing.addresses import names_its_address, permitted_addresses
from kebab.outgoing.errors import AddressRefused, RequestFailed


@pytest.fixture
def resolve(monkeypatch):
    """Have every name lead to these addresses."""

    def set_(*addresses):
        found = [
            (socket.AF_INET6 if ":" in each else socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 80))
            for each in addresses
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: found)

    return set_


@pytest.mark.parametrize(
    "address",
    [
        "93.184.216.34",
        "2606:2800:220:1:248:1893:25c8:1946",
        "::ffff:93.184.216.34",
        "64:ff9b::5db8:d822",
        "2002:5db8:d822::1",
    ],
)
def test_a_public_address_is_permitted(resolve, address):
    resolve(address)
    assert permitted_addresses("example.org", 80, frozenset()) == [address]


@pytest.mark.parametrize(
    "address",
    [
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
    ],
)
def test_other_addresses_are_for_named_hosts_alone(resolve, address):
    resolve(address)
    with pytest.raises(AddressRefused):
        permitted_addresses("example.org", 80, frozenset({"example.com"}))
    assert permitted_addresses("Example.org", 80, frozenset({"example.org"})) == [address]


def test_one_private_address_among_public_ones_is_enough_to_refuse(resolve):
    resolve("93.184.216.34", "127.0.0.1")
    with pytest.raises(AddressRefused):
        permitted_addresses("example.org", 80, frozenset())


def test_all_addresses_are_given_once_in_the_resolvers_order(resolve):
    resolve("93.184.216.34", "1.1.1.1", "93.184.216.34")
    assert permitted_addresses("example.org", 80, frozenset()) == ["93.184.216.34", "1.1.1.1"]


def test_a_name_without_an_address_is_a_failure(monkeypatch):
    def refuse(*args, **kwargs):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    with pytest.raises(RequestFailed, match="without an address"):
        permitted_addresses("example.invalid", 80, frozenset())


@pytest.mark.parametrize("host", ["a" * 64 + ".org", "\udc80.org"])
def test_a_name_that_can_be_none_is_a_failure(host):
    with pytest.raises(RequestFailed):
        permitted_addresses(host, 80, frozenset())


@pytest.mark.parametrize(
    ("host", "names"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("LOCALHOST", True), ("tei", False)],
)
def test_an_address_as_such_and_localhost_name_their_address(host, names):
    assert names_its_address(host) is names
