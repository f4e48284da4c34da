import ipaddress

import pytest
from django.core import checks as system_checks
from django.test import RequestFactory

from kebab.http.rate_limits import client_address as client
from kebab.http.rate_limits.client_address import client_address, client_network

PROXIES = [ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("fd00::/8")]


def request_from(peer, forwarded=None):
    headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
    return RequestFactory().get("/", REMOTE_ADDR=peer, headers=headers)


ADDRESSES = [
    ("203.0.113.9", None, "203.0.113.9"),
    ("203.0.113.9", "198.51.100.1", "203.0.113.9"),  # no proxy of ours has written that
    ("10.0.0.1", "198.51.100.1", "198.51.100.1"),
    ("10.0.0.1", "1.2.3.4, 198.51.100.1", "198.51.100.1"),  # what the client itself wrote
    ("10.0.0.1", "1.2.3.4, 198.51.100.1, 10.0.0.2", "198.51.100.1"),
    ("10.0.0.1", "198.51.100.1, nonsense, 10.0.0.2", "10.0.0.2"),
    ("10.0.0.1", "nonsense", "10.0.0.1"),
    ("10.0.0.1", "", "10.0.0.1"),
    ("10.0.0.1", "10.0.0.2, 10.0.0.3", "10.0.0.2"),
    ("fd00::1", "2001:db8::7", "2001:db8::7"),
    ("::ffff:10.0.0.1", "198.51.100.1", "198.51.100.1"),
    ("", "198.51.100.1", None),
    ("a socket", None, None),
]


def test_forwarded_address_is_used_only_from_trusted_proxies(settings, subtests):
    settings.KEBAB_TRUSTED_PROXIES = PROXIES
    for peer, forwarded, address in ADDRESSES:
        with subtests.test(peer=peer, forwarded=forwarded):
            assert client_address(request_from(peer, forwarded)) == address
    settings.KEBAB_TRUSTED_PROXIES = []
    assert client_address(request_from("10.0.0.1", "198.51.100.1")) == "10.0.0.1"


LOCAL_PROXIES = [
    ("127.0.0.1", "198.51.100.1", [], 1),
    ("::1", "198.51.100.1", PROXIES, 1),
    ("", "198.51.100.1", PROXIES, 1),
    ("127.0.0.1", None, [], 0),
    ("127.0.0.1", "198.51.100.1", [ipaddress.ip_network("127.0.0.0/8")], 0),
    ("203.0.113.9", "198.51.100.1", [], 0),  # anybody may send that
]


def test_untrusted_proxy_on_this_machine_is_logged_once(settings, caplog, subtests):
    for peer, forwarded, proxies, warnings in LOCAL_PROXIES:
        with subtests.test(peer=peer, forwarded=forwarded, proxies=proxies):
            settings.KEBAB_TRUSTED_PROXIES = proxies
            client._warn_of_proxy.cache_clear()
            caplog.clear()
            for _ in range(3):
                client_address(request_from(peer, forwarded))
            assert caplog.text.count("KEBAB_TRUSTED_PROXIES") == warnings


@pytest.mark.parametrize(
    ("https", "proxies", "ids"),
    [(True, [], ["kebab.W002"]), (True, PROXIES, []), (False, [], [])],
)
def test_deployment_check_asks_for_the_proxy_in_front(settings, https, proxies, ids):
    settings.SECURE_SSL_REDIRECT, settings.KEBAB_TRUSTED_PROXIES = https, proxies
    found = system_checks.run_checks(include_deployment_checks=True)
    assert [each.id for each in found if each.id == "kebab.W002"] == ids


def test_client_with_ipv6_is_its_network():
    for peer, network in [
        ("203.0.113.9", "203.0.113.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("", "unknown"),
    ]:
        assert client_network(request_from(peer)) == network
