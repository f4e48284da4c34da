"""Addresses of the database and of Redis, as operators give them."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from kebab.stack.servers.addresses import check_redis_url, parse_database_url

WRITABLE = "target_session_attrs=read-write"


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        (f"postgresql://u:p%40@a:5432,b:5433/db?{WRITABLE}", "a,b", "5432,5433"),
        (f"postgresql://u:p%40@a,b/db?{WRITABLE}", "a,b", ""),
        (f"postgresql://u:p%40@/db?host=a,b&port=5432,5433&{WRITABLE}", "a,b", "5432,5433"),
        (f"postgresql://u:p%40@[::1]:1,[::2]:2/db?{WRITABLE}", "::1,::2", "1,2"),
        (f"host=a,b dbname=db user=u password=p@ {WRITABLE}", "a,b", ""),
        ("postgresql://u:p%40@a,b/db?target_session_attrs=primary", "a,b", ""),
        ("postgresql://u:p%40@a:5432/db", "a", "5432"),
        ("postgres://u:p%40@/db?host=/run/pg", "/run/pg", ""),
        ("postgresql://u:p%40@%2frun%2fpg:5432/db", "/run/pg", "5432"),
    ],
)
def test_forms_of_libpq_are_accepted(url, host, port):
    found = parse_database_url(url, "engine")
    assert (found["HOST"], found["PORT"]) == (host, port)
    assert [found[name] for name in ("ENGINE", "USER", "PASSWORD", "NAME")] == ["engine", "u", "p@", "db"]
    assert found["OPTIONS"].keys() <= {"target_session_attrs"}


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u@a,b/db",
        "host=a,b dbname=db",
        "postgresql://u@/db?hostaddr=10.0.0.1,10.0.0.2",
        "postgresql://u@a,b/db?target_session_attrs=any",
        "postgresql://u@a,b/db?target_session_attrs=prefer-standby",
        "postgresql://u@a:5432,b:5433/db?nonsense=1",
        "a.example.org",
    ],
)
def test_hosts_that_may_refuse_writes_and_unreadable_addresses_are_refused(url):
    with pytest.raises(ImproperlyConfigured):
        parse_database_url(url, "engine")


def test_option_of_django_is_passed_on():
    found = parse_database_url("postgresql://u@a/db?server_side_binding=true", "engine")
    assert found["OPTIONS"] == {"server_side_binding": True}


@pytest.mark.parametrize("url", ["sentinel://a:26379", "redis-sentinel://a", "redis-cluster://a", "a:6379"])
def test_redis_by_another_protocol_is_refused(url):
    with pytest.raises(ImproperlyConfigured, match="REDIS_URL"):
        check_redis_url(url)


@pytest.mark.parametrize(
    "url", ["redis://a", "rediss://:p@a:6380/1", "unix:///r.sock", "redis+socket:///r.sock"]
)
def test_redis_by_its_protocol_is_accepted(url):
    assert check_redis_url(url) == url
